import { type Seeded, seeded } from '../../packages/server/test/seeded.ts'
import { startDrillCluster } from './cluster.ts'
import { type FeedHouse, openFeedHouse } from './feed-house.ts'
import { type FeedWorld, makeFeedWorld, mutateWorld } from './feed-mutations.ts'
import { FeedNode } from './feed-node.ts'
import { readTruth } from './feed-truth.ts'
import { type Committed, everyOrderOfTwo, randomActs, type Script, Writer } from './feed-writers.ts'

const writersMost = 4
const keysEach = 2

interface InterleavingTally {
  rounds: number
  committed: number
  rolledBack: number
  /** Acts that had to wait for another transaction. */
  waited: number
  polls: number
  changesRead: number
}

export interface Interleavings {
  /** How many random ones; every order of two transactions comes before them. */
  cycles: number
  seed: number
  /** Done to the database first; a test of the drill breaks something here. */
  sabotage?: string
  signal?: AbortSignal
  say?: (line: string) => void
}

/** @returns the rounds by kind, and what contradicts the promise. */
export async function runInterleavings({ cycles, seed, sabotage, signal, say = () => {} }: Interleavings) {
  const cluster = await startDrillCluster({ durable: false })
  const house = await openFeedHouse(cluster.connection)
  const writers: Writer[] = []
  try {
    for (let i = 0; i < writersMost; i += 1) writers.push(await Writer.open(house))
    const stage = await InterleavingStage.set(house, writers, seed)
    if (sabotage !== undefined) await house.client.query(sabotage)
    for (const { acts, order } of everyOrderOfTwo()) {
      if (signal?.aborted) break
      await stage.round('every order of two', acts, order)
    }
    for (let cycle = 0; cycle < cycles && !signal?.aborted; cycle += 1) {
      const random = seeded(seed + cycle)
      const acts = Array.from({ length: 2 + random.integer(writersMost - 1) }, () => randomActs(random))
      const kind = `${acts.length} transactions at random`
      await stage.round(kind, acts, shuffled(acts, random), `seed ${seed + cycle}`)
      say(`${cycle + 1} of ${cycles}, ${stage.broken.length} broken`)
    }
    return { tallies: stage.tallies, broken: stage.broken, serverVersion: cluster.serverVersion }
  } finally {
    for (const writer of writers) await writer.close()
    await house.close()
    await cluster.remove()
  }
}

/** Whose turn it is, act by act. */
function shuffled(acts: readonly (readonly unknown[])[], random: Seeded): number[] {
  const order = acts.flatMap((own, who) => own.map(() => who))
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = random.integer(at + 1)
    ;[order[at], order[other]] = [order[other] as number, order[at] as number]
  }
  return order
}

/** What a reader learned between two versions. */
interface Learned {
  since: number
  version: number
  ids: string[]
}

const readersOf = ['eager', 'lazy'] as const

/** One project, the transactions that change it, and two nodes that poll: after every step, and now and then. */
class InterleavingStage {
  readonly tallies = new Map<string, InterleavingTally>()
  readonly broken: string[] = []
  readonly #house: FeedHouse
  readonly #projectId: string
  readonly #keys: readonly string[]
  readonly #writers: readonly Writer[]
  readonly #readers: Record<(typeof readersOf)[number], FeedNode>
  readonly #learned: Learned[]
  readonly #committed: Committed = new Map()
  #rounds = 0
  /** The current round: its figures, its name, and its acts so far. */
  #tally: InterleavingTally = emptyTally()
  #name = ''
  #done: string[] = []

  private constructor(world: FeedWorld, keys: readonly string[], writers: readonly Writer[]) {
    this.#house = world.house
    this.#projectId = world.projects[0] ?? ''
    this.#keys = keys
    this.#writers = writers
    this.#learned = []
    this.#readers = {
      eager: readerOf(world, 'eager', this.#learned),
      lazy: readerOf(world, 'lazy', this.#learned),
    }
  }

  static async set(house: FeedHouse, writers: readonly Writer[], seed: number): Promise<InterleavingStage> {
    const world = await makeFeedWorld(house, seeded(seed))
    const keysNow = async () => (await readTruth(house.client, world.projects[0] ?? '')).keys
    while ((await keysNow()).length < writersMost * keysEach) await mutateWorld(world, 'create')
    const keys = (await keysNow()).map(key => key.id)
    const stage = new InterleavingStage(world, keys, writers)
    for (const name of readersOf) await stage.#readers[name].poll({ pageSize: null })
    return stage
  }

  async round(kind: string, acts: Script['acts'][], order: readonly number[], name = kind): Promise<void> {
    this.#tally = this.tallies.get(kind) ?? emptyTally()
    this.tallies.set(kind, this.#tally)
    this.#tally.rounds += 1
    this.#rounds += 1
    this.#name = name
    this.#done = []
    const own = acts.map((script, who) => {
      const keys = this.#keys.slice(who * keysEach, (who + 1) * keysEach)
      const writer = this.#writers[who] as Writer
      writer.take({ acts: script, keys }, `round-${this.#rounds}`)
      return writer
    })
    const left = [...order]
    while (left.length > 0) {
      // A waiting act continues when it can; the others go on in their order.
      const [who = 0] = left.splice(
        left.findIndex(one => !own[one]?.isWaiting),
        1,
      )
      await this.#step(own, who)
      await this.#look('eager')
      if (this.#done.length % 3 === 0) await this.#look('lazy')
    }
    await this.#look('lazy')
  }

  async #step(own: readonly Writer[], who: number): Promise<void> {
    const writer = own[who] as Writer
    const act = await writer.step(this.#projectId, this.#house.scene.workspaceId, this.#committed)
    this.#done.push(`T${who + 1}:${act}${writer.isWaiting ? '(waits)' : ''}`)
    if (writer.isWaiting) this.#tally.waited += 1
    if (act === 'commit') this.#tally.committed += 1
    if (act === 'rollback') this.#tally.rolledBack += 1
    // A released lock passes to a waiting transaction before the next poll.
    const waiting = own.filter(one => one.isWaiting)
    if (waiting.length > 0 && !own.some(one => one.holdsHead)) {
      await Promise.race(waiting.map(one => one.pending))
    }
  }

  /** The node holds the truth, and each delta names exactly what was committed between its versions. */
  async #look(name: (typeof readersOf)[number]): Promise<void> {
    const reader = this.#readers[name]
    const { error } = await reader.poll({ pageSize: null })
    this.#tally.polls += 1
    if (error !== undefined) this.#break(`the poll failed: ${error.message}`)
    const truth = await readTruth(this.#house.client, this.#projectId)
    for (const line of reader.differsFrom(truth)) this.#break(`${name} node at ${reader.version} ${line}`)
    for (const { since, version, ids } of this.#learned.splice(0)) {
      this.#tally.changesRead += ids.length
      const due = new Set<string>()
      for (let at = since + 1; at <= version; at += 1) {
        const keys = this.#committed.get(at)
        if (keys === undefined) this.#break(`version ${at} was sent but never committed`)
        for (const id of keys ?? []) due.add(id)
      }
      const isWhole = ids.length === due.size && ids.every(id => due.has(id))
      if (!isWhole) this.#break(`from ${since} to ${version} ${ids.length} changes instead of ${due.size}`)
    }
  }

  #break(what: string): void {
    this.broken.push(`${this.#name}, after ${this.#done.join(' ')}: ${what}`)
  }
}

const emptyTally = (): InterleavingTally => ({
  rounds: 0,
  committed: 0,
  rolledBack: 0,
  waited: 0,
  polls: 0,
  changesRead: 0,
})

function readerOf({ house, projects }: FeedWorld, name: string, learned: Learned[]): FeedNode {
  return new FeedNode(house, {
    name,
    projectId: projects[0] ?? '',
    token: house.scene.live,
    env: 'both',
    tenantIds: [],
    onAnswer(text) {
      const { since, version, changes } = JSON.parse(text)
      if (changes)
        learned.push({ since, version, ids: changes.map((change: { key_id: string }) => change.key_id) })
      return text
    },
  })
}
