import { randomUUID } from 'node:crypto'
import { doChores } from '../../packages/server/src/platform/db/upkeep.ts'
import { pruneChanges } from '../../packages/server/src/policy/upkeep.ts'
import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import type { FeedHouse } from './feed-house.ts'
import { ageKeys, type FeedWorld, makeFeedWorld, mutateWorld, pickMutation } from './feed-mutations.ts'
import { FeedNode, type NodeOptions, type Polled, type PollPlan } from './feed-node.ts'
import { countLasting, goneKeys, readTruth, type Truth } from './feed-truth.ts'

/** Bounds of the service that a few keys reach. */
export const feedBounds = { policyMaxWholeKeys: 6, policyMaxPageKeys: 4 }

/** What was done, by name, and how often. */
export type Tally = Map<string, number>

const count = (tally: Tally, name: string, times = 1) => tally.set(name, (tally.get(name) ?? 0) + times)

const firstKeys = 7
const nodesMost = 4

const weights = {
  mutation: 20,
  poll: 12,
  'poll, walk torn by changes': 5,
  'poll beside a change': 3,
  'poll, answer lost': 3,
  restart: 3,
  'restart from disk': 3,
  'claim to be ahead': 1,
  'changes pruned': 2,
  'time passes': 4,
}

export interface SeedOptions {
  commands: number
  tally: Tally
  onAnswer?: NodeOptions['onAnswer']
}

/** One history from its seed. @returns what contradicts the promise, a line each. */
export async function runSeed(house: FeedHouse, seed: number, options: SeedOptions): Promise<string[]> {
  const random = seeded(seed)
  const run = new SeedRun(await makeFeedWorld(house, random), seed, options)
  await run.all()
  return run.broken
}

class SeedRun {
  readonly broken: string[] = []
  readonly #world: FeedWorld
  readonly #nodes: FeedNode[]
  readonly #seed: number
  readonly #options: SeedOptions
  #step = 0
  #command = ''

  constructor(world: FeedWorld, seed: number, options: SeedOptions) {
    this.#world = world
    this.#seed = seed
    this.#options = options
    this.#nodes = Array.from({ length: 2 + world.random.integer(nodesMost - 1) }, (_, at) =>
      makeNode(world, `n${at}`, options.onAnswer),
    )
  }

  async all(): Promise<void> {
    const { random } = this.#world
    const { commands } = this.#options
    for (let i = 0; i < firstKeys; i += 1) await this.#mutate('create')
    await ageKeys(this.#world)
    for (this.#step = 1; this.#step <= commands; this.#step += 1) {
      this.#command = random.weighted(weights)
      count(this.#options.tally, this.#command)
      await this.#do(this.#command as keyof typeof weights, random.pick(this.#nodes))
      if (this.broken.length > 0) return
    }
    this.#command = 'poll in the end'
    for (const node of this.#nodes) {
      await this.#poll(node)
      count(this.#options.tally, this.#command)
    }
  }

  async #do(command: keyof typeof weights, node: FeedNode): Promise<void> {
    const { random, house, projects } = this.#world
    switch (command) {
      case 'mutation':
        return await this.#mutate()
      case 'poll':
        return await this.#poll(node)
      case 'poll, walk torn by changes':
        return await this.#unsettledPoll(node, {
          pageSize: 1 + random.integer(3),
          between: () => this.#mutate(),
        })
      case 'poll beside a change':
        return await this.#unsettledPoll(node, { pageSize: pageSize(random) }, () => this.#mutate())
      case 'poll, answer lost':
        return await this.#lostPoll(node, { pageSize: 1 + random.integer(3), loseAnswer: random.integer(3) })
      case 'restart':
        return node.restart()
      case 'restart from disk':
        return node.restartFromDisk()
      case 'claim to be ahead':
        // As far as the service itself leaps after a restore: a version is never used twice.
        return node.runAhead(1_048_576)
      case 'changes pruned':
        return await this.#prune(random.pick(projects))
      case 'time passes':
        return await house.advance(random.pick([1_000, 1_800_000, 7_200_000]))
    }
  }

  async #mutate(kind = pickMutation(this.#world, this.#step > 0.7 * this.#options.commands)): Promise<void> {
    const status = await mutateWorld(this.#world, kind)
    count(this.#options.tally, status < 300 ? kind : 'refused mutation')
  }

  /** Nothing else happens meanwhile, so node and truth are at one version. */
  async #poll(node: FeedNode): Promise<void> {
    const plan = { pageSize: pageSize(this.#world.random) }
    let polled = await node.poll(plan)
    this.#tell(polled)
    const truth = await this.#truth(node)
    if (polled.error?.code === 'snapshot_too_large' && plan.pageSize === null) {
      if (countLasting(truth, node.options) <= feedBounds.policyMaxWholeKeys)
        this.#break(node, 'is refused what would fit')
      polled = await node.poll({ pageSize: 5_000 })
      this.#tell(polled)
    }
    if (polled.error !== undefined) return this.#break(node, `failed to poll: ${polled.error.message}`)
    if (node.version !== truth.version) this.#break(node, `is not at ${truth.version}`)
    for (const line of [...node.differsFrom(truth), ...node.misjudges(truth, this.#world.issued)])
      this.#break(node, line)
  }

  /** Changes happen meanwhile: the node need not be current, but must not hold keys that ended before. */
  async #unsettledPoll(node: FeedNode, plan: PollPlan, beside = async () => {}): Promise<void> {
    const before = await this.#truth(node)
    const [polled] = await Promise.all([node.poll(plan), beside()])
    this.#tell(polled)
    if (polled.error !== undefined) {
      if (polled.error.code !== 'snapshot_too_large')
        this.#break(node, `failed to poll: ${polled.error.message}`)
      return
    }
    if ((node.version ?? 0) < before.version) this.#break(node, `is behind ${before.version}`)
    const held = node.held(await this.#truth(node))
    for (const id of goneKeys(before))
      if (held.has(id)) this.#break(node, `holds key ${id}, which ended before it asked`)
  }

  /** A failed poll has changed nothing. */
  async #lostPoll(node: FeedNode, plan: PollPlan): Promise<void> {
    const truth = await this.#truth(node)
    const { version } = node
    const before = JSON.stringify([...node.held(truth)])
    const polled = await node.poll(plan)
    this.#tell(polled)
    if (polled.error === undefined) return
    if (node.version !== version) this.#break(node, `went from ${version} by a poll that failed`)
    if (JSON.stringify([...node.held(truth)]) !== before)
      this.#break(node, 'was changed by a poll that failed')
  }

  /** Ages the changes up to some version, and lets the service's own upkeep prune them. */
  async #prune(projectId: string): Promise<void> {
    const { house, random } = this.#world
    const { version } = await readTruth(house.client, projectId)
    await house.client.query(
      `update policy_changes set changed_at = service_now() - interval '8 days'
       where project_id = $1 and version <= $2`,
      [projectId, version - random.integer(4)],
    )
    await doChores(house.connection, [pruneChanges], house.log)
  }

  #truth = (node: FeedNode): Promise<Truth> => readTruth(this.#world.house.client, node.options.projectId)

  #tell({ result, error }: Polled): void {
    count(
      this.#options.tally,
      `→ ${error?.code ?? result?.outcome}${result?.more ? ' of several pages' : ''}`,
    )
  }

  #break(node: FeedNode, what: string): void {
    const { name, env, tenantIds, lacks } = node.options
    const sight = `env ${env}, ${tenantIds.length === 0 ? 'all' : tenantIds.length} tenants, lacks ${lacks}`
    this.broken.push(
      `seed ${this.#seed}, command ${this.#step} (${this.#command}): node ${name} (${sight}) at version ${node.version} ${what}`,
    )
  }
}

/** Sees a part of a project: an environment or both, some tenants or all; one of them may not exist. */
function makeNode(
  { house, random, projects, tenants }: FeedWorld,
  name: string,
  onAnswer: NodeOptions['onAnswer'],
) {
  const isTest = random.integer(5) === 0
  const some = tenants.filter(() => random.integer(2) === 0)
  return new FeedNode(house, {
    name,
    projectId: (random.integer(6) === 0 ? projects.at(-1) : projects[0]) ?? '',
    token: isTest ? house.testToken : house.scene.live,
    env: isTest ? 'test' : random.pick(['live', 'test', 'both', 'both']),
    tenantIds: random.pick([[], [], some, [...some, randomUUID()]]),
    lacks: random.pick([
      [],
      [],
      ['suspended', 'cidr', 'lifetime', 'imported'],
      ['cidr', 'lifetime', 'imported'],
      ['lifetime', 'imported'],
    ]),
    ...(onAnswer !== undefined && { onAnswer }),
  })
}

/** 1 to more than the service returns; sometimes none. */
const pageSize = (random: Seeded): number | null => random.pick([null, 1, 2, 3, 4, 5, 6, 5_000])
