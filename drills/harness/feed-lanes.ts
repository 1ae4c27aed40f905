import { startDrillCluster } from './cluster.ts'
import { type FeedHouse, openFeedHouse } from './feed-house.ts'
import { feedBounds, runSeed, type SeedOptions } from './feed-seed.ts'

/** Histories that run at once. A history waits for the store most of its time. */
const lanes = 4
/** After this many histories a lane begins on a fresh database, so that the last is as quick as the first. */
const seedsPerHouse = 250

export interface Seeds extends SeedOptions {
  first: number
  cycles: number
  signal?: AbortSignal
  say(line: string): void
}

/** @returns how many histories were run, and what contradicts the promise. */
export async function runSeeds({ first, cycles, signal, say, ...options }: Seeds) {
  const cluster = await startDrillCluster({ durable: false, settings: { synchronous_commit: 'off' } })
  const broken: string[] = []
  let begun = 0
  let ended = 0
  let hasFailed = false
  const next = () => (signal?.aborted || hasFailed || begun === cycles ? null : first + begun++)

  const runLane = async () => {
    let house: FeedHouse | null = null
    try {
      for (let turn = 0, seed = next(); seed !== null; seed = next(), turn += 1) {
        if (turn % seedsPerHouse === 0) {
          await house?.close()
          house = await openFeedHouse(cluster.connection, feedBounds)
        }
        broken.push(...(await runSeed(house as FeedHouse, seed, options)))
        ended += 1
        say(`${ended} of ${cycles} seeds, ${broken.length} broken`)
      }
    } catch (error) {
      hasFailed = true
      throw error
    } finally {
      await house?.close()
    }
  }

  try {
    // Every lane ends before the cluster does, or their lost connections would hide why one has failed.
    const ends = await Promise.allSettled(Array.from({ length: Math.min(lanes, cycles) }, runLane))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return { ended, broken, serverVersion: cluster.serverVersion }
  } finally {
    await cluster.remove()
  }
}
