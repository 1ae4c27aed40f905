import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createLog } from '../platform/log.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Check } from './fold.ts'
import { openRedisCounters } from './redis.ts'
import type { CounterStore } from './store.ts'

/** Counters in a Redis with what they have told so far; closed when the test file ends. */
export interface WatchedCounters {
  store: CounterStore
  /** Lines of the log, parsed. */
  logged: { level: string; msg: string; redis?: string; err?: { message: string } }[]
  /** How many checks rode each call. */
  batches: number[]
  failures(): number
}

export async function openWatched(url: string, now?: () => number): Promise<WatchedCounters> {
  const logged: WatchedCounters['logged'] = []
  const batches: number[] = []
  let failures = 0
  const store = await openRedisCounters(url, {
    log: createLog('info', { write: line => void logged.push(JSON.parse(line)) }),
    observer: {
      batchSent: (_lane, items) => void batches.push(items),
      redisFailed: () => {
        failures += 1
      },
    },
    ...(now !== undefined && { now }),
  })
  after(() => store.close())
  return { store, logged, batches, failures: () => failures }
}

/** A check of a project of its own, with one limit that no test comes near. */
export const someCheck = (over: Partial<Check> = {}): Check => ({
  workspaceId: randomUUID(),
  projectId: randomUUID(),
  env: 'live',
  keyId: randomUUID(),
  tenantId: null,
  cost: 1,
  rules: [{ id: 'many', limit: 1_000_000, window_ms: 3_600_000, algorithm: 'fixed', scope: 'key' }],
  ...over,
})

/** A master's own word that it serves nobody, because it believes too many of its cluster to be gone. */
export const isClusterDown = (error: unknown) =>
  isUnavailable(error) && error.cause instanceof Error && error.cause.message.startsWith('CLUSTERDOWN')

export const isUnavailable = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.code === 'unavailable'

/** Whether a check is answered; a 503 is not, and anything else is an error. */
export async function isAnswered(store: CounterStore, check: Check = someCheck()): Promise<boolean> {
  try {
    await store.check(check)
    return true
  } catch (error) {
    if (isUnavailable(error)) return false
    throw error
  }
}

/** Asks until it is so. What never comes is an error and not a test that hangs. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < 1_000; asked++) {
    if (await isSo()) return
    await setTimeout(20)
  }
  throw new Error(`it never was so: ${isSo}`)
}
