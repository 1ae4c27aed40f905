import type { Clock } from '../platform/clock.ts'
import { partOf } from '../platform/concurrency/part-of.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import { Refusal } from '../platform/refusal.ts'

/** How many keys a credential can identify in a minute, in one process: enough for people, but not to check live traffic. */
export const identifiedAMinute = 60
/**
 * How many changes of its keys a tenant can make with embed tokens in a minute, in one process: each change adds to the audit
 * log of the vendor and goes to every node, and a browser can send any number of requests.
 */
export const updatedAMinute = 60
/** How often a tenant can change its own networks so: a first range costs each node of an earlier release all keys of a project. */
export const networksAMinute = 6
/** How many changes and counts of many keys a credential can ask for in a minute, in one process: each is kept for days, or reads a workspace. */
export const manyAMinute = 60
const windowMs = 60_000

/** Callers that are remembered, about 150 bytes each. */
const callersMax = 50_000

/** Counts what each caller does, a minute at a time. */
interface Turns {
  /** @throws {Refusal} `too_many_requests` when the minute is used up. */
  take(caller: string): void
}

export interface KeyTurns {
  /** By credential. */
  readonly identify: Turns
  /** Changes and counts of many keys, by credential. */
  readonly many: Turns
  /** By tenant, with embed tokens. */
  readonly update: Turns
  /** By tenant, with embed tokens. */
  readonly networks: Turns
}

/** @param processes among which the bounds are divided. */
export function createKeyTurns(clock: Clock, processes = 1): KeyTurns {
  return {
    identify: createTurns(
      clock,
      partOf(identifiedAMinute, processes),
      `A credential can identify ${identifiedAMinute} keys a minute. To verify keys, use the policy feed.`,
    ),
    many: createTurns(
      clock,
      partOf(manyAMinute, processes),
      `A credential can change or count many keys ${manyAMinute} times a minute.`,
    ),
    update: createTurns(
      clock,
      partOf(updatedAMinute, processes),
      `A tenant can change its keys ${updatedAMinute} times a minute with embed tokens.`,
    ),
    networks: createTurns(
      clock,
      partOf(networksAMinute, processes),
      `A tenant can change its networks ${networksAMinute} times a minute with embed tokens.`,
    ),
  }
}

function createTurns(clock: Clock, most: number, detail: string): Turns {
  const windows = recentlyUsed<{ readonly until: number; taken: number }>(callersMax)
  return {
    take(caller) {
      const now = clock.monotonic()
      const known = windows.get(caller)
      const window = known !== undefined && now < known.until ? known : { until: now + windowMs, taken: 0 }
      if (window !== known) windows.set(caller, window)
      if (window.taken >= most) {
        const seconds = Math.ceil((window.until - now) / 1_000)
        throw new Refusal('too_many_requests', detail, { headers: { 'retry-after': String(seconds) } })
      }
      window.taken += 1
    },
  }
}
