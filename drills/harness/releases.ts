import { seeded } from '../../packages/server/test/seeded.ts'
import { startDrillCluster } from './cluster.ts'
import { type FeedHouse, openFeedHouse } from './feed-house.ts'
import { makeFeedWorld, mutateWorld, pickMutation } from './feed-mutations.ts'
import { FeedNode } from './feed-node.ts'
import { countLasting, readTruth, sentKeys } from './feed-truth.ts'
import { NewerMeeting } from './newer-releases.ts'
import { OldClient } from './old-client.ts'

/** So few that an old client is refused at times. */
const bounds = { policyMaxWholeKeys: 6 }
const stepsOfHistory = 20
const firstKeys = 4

export interface ReleasesOptions {
  cycles: number
  seed: number
  signal?: AbortSignal
  say?: (line: string) => void
}

type Counts = Map<string, number>

/** @returns how often each answer was seen, and what contradicts the promise. */
export async function runReleases({ cycles, seed, signal, say = () => {} }: ReleasesOptions) {
  const cluster = await startDrillCluster({ durable: false, settings: { synchronous_commit: 'off' } })
  const house = await openFeedHouse(cluster.connection, bounds)
  const counts: Counts = new Map()
  const broken: string[] = []
  try {
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle += 1) {
      broken.push(...(await runHistory(house, seed + cycle, counts)))
      say(`${cycle + 1} of ${cycles}, ${broken.length} broken`)
    }
    return { counts, broken, serverVersion: cluster.serverVersion }
  } finally {
    await house.close()
    await cluster.remove()
  }
}

async function runHistory(house: FeedHouse, seed: number, counts: Counts): Promise<string[]> {
  const random = seeded(seed)
  const world = await makeFeedWorld(house, random)
  const projectId = world.projects[0] ?? ''
  const whole = { env: 'both', tenantIds: [], lacks: ['suspended', 'cidr', 'lifetime', 'imported'] } as const
  const old = new OldClient(house, projectId)
  const fresh = new FeedNode(house, {
    name: `new-${seed}`,
    projectId,
    token: house.scene.live,
    ...whole,
    hasLabels: true,
    onAnswer: asOldService,
  })
  const broken: string[] = []
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

  const newer = new NewerMeeting(world, `newer-${seed}`, count)

  for (let at = 0; at < firstKeys; at += 1) await mutateWorld(world, 'create')
  for (let step = 0; step < stepsOfHistory && broken.length === 0; step += 1) {
    await mutateWorld(world, pickMutation(world, step > 0.7 * stepsOfHistory))
    if (random.integer(3) === 0) await house.advance(1_800_000)
    if (random.integer(2) === 0) continue
    const truth = await readTruth(house.client, projectId)
    const usable = [...sentKeys(truth, whole, house.now()).keys()].sort().join()
    const mayRefuse = countLasting(truth, whole) > bounds.policyMaxWholeKeys
    const tell = (what: string) => broken.push(`seed ${seed}, step ${step}: ${what}`)

    const status = await old.poll()
    if (status === 200) {
      count('old client, new service: right')
      if (old.usable(house.now()).join() !== usable) tell('the old client holds other keys than the project')
    } else {
      count(`old client, new service: ${status}`)
      if (status !== 413 || !mayRefuse) tell(`the old client was answered ${status}`)
    }

    // The service of the previous release had no pages.
    const { error } = await fresh.poll({ pageSize: null })
    if (error === undefined) {
      count('new client, old service: right')
      for (const line of fresh.misjudges(truth, world.issued)) tell(`the new client ${line}`)
      for (const line of withLimits(fresh, truth)) tell(line)
    } else {
      count(`new client, old service: ${error.code}`)
      if (error.code !== 'snapshot_too_large' || !mayRefuse) tell(`the new client failed: ${error.message}`)
    }

    for (const line of await newer.poll(truth)) tell(`before a newer service: ${line}`)
  }
  const last = await newer.sayAgain(await readTruth(house.client, projectId))
  broken.push(...last.map(line => `seed ${seed}, at the end: ${line}`))
  return broken
}

/** What the first release's service did not send, although this client asks for some of it. */
const since = new Set(['next_cursor', 'rate_limits', 'cause', 'features', 'tenants', 'name', 'meta'])

/** An answer of the first release's service. */
function asOldService(text: string): string {
  return JSON.stringify(JSON.parse(text, (name, value) => (since.has(name) ? undefined : value)))
}

/** Keys with limits in the node's store, though it received none. */
const withLimits = (node: FeedNode, truth: Awaited<ReturnType<typeof readTruth>>): string[] =>
  [...node.held(truth)]
    .filter(([, line]) => JSON.parse(line.replace(/, not found.*/, ''))[3].length > 0)
    .map(([id]) => `key ${id} has limits that no answer contained`)
