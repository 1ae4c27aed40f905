/** When to poll again. Pure functions; times in milliseconds, `random` returns 0 to below 1. */

/** Least time between the starts of two requests, to limit the load from a faulty service. */
export const FLOOR_MS = 100
/** An unchanged answer that comes sooner than this was not held as promised: the service is shutting down. */
const HELD_MS = 1_000
const FIRST_BACKOFF_MS = 500
/** The longest `Retry-After` that is honoured: keys would go stale during a longer one. */
const RETRY_AFTER_MAX_MS = 30_000
/** The next answer must arrive this long before a record goes stale. */
const SLACK_MS = 10_000
const WAIT_MAX_SECONDS = 25

export interface Polled {
  outcome: 'snapshot' | 'delta' | 'unchanged'
  /** Whether the service holds unchanged answers as requested. */
  waits: boolean
  /** More may have changed since, because the snapshot had several pages. */
  more: boolean
  /** The first snapshot of a process. The next poll finds out whether the service holds answers. */
  first: boolean
  /** The first answer of a process that the service did not hold. */
  unphased: boolean
  /** `reseeds`: successive snapshots in place of deltas. `stuck`: the last of them, whose version did not rise. */
  reseeds: number
  stuck: number
  /** The longest pause after which the keys can still be confirmed in time. */
  mostMs: number
  tookMs: number
}

/**
 * If the service holds answers: at once. Otherwise one interval after the start of the last request or slightly sooner,
 * never later, because the interval bounds how long a revoked key works. The first interval is cut at random, so that a
 * fleet that starts together does not poll together.
 */
export function delayAfter(polled: Polled, pollIntervalMs: number, random: () => number): number {
  const { outcome, waits, more, first, unphased, tookMs } = polled
  const floor = Math.max(0, FLOOR_MS - tookMs)
  if (polled.reseeds > 1) return Math.max(floor, reseedDelay(polled, pollIntervalMs, random) - tookMs)
  if (more || first) return floor
  if (waits && (outcome !== 'unchanged' || tookMs >= HELD_MS)) return floor
  if (unphased) return Math.max(floor, random() * pollIntervalMs)
  return Math.max(floor, pollIntervalMs * (0.9 + 0.1 * random()) - tookMs)
}

/**
 * A service that keeps answering with snapshots is asked once per interval at most, and ever less often while its version
 * does not rise.
 */
function reseedDelay({ stuck, mostMs }: Polled, pollIntervalMs: number, random: () => number): number {
  const intervals = 2 ** Math.min(16, Math.max(0, stuck - 1))
  const most = Math.max(pollIntervalMs, mostMs)
  return Math.min(most, pollIntervalMs * intervals) * (0.9 + 0.1 * random())
}

/**
 * Exponential with full jitter, at most one interval; longer only if the service asks for it.
 *
 * @param failures in a row, including this one
 */
export function delayAfterError(
  { failures, retryAfterMs = 0 }: { failures: number; retryAfterMs?: number | undefined },
  pollIntervalMs: number,
  random: () => number,
): number {
  const cap = Math.min(pollIntervalMs, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16))
  return Math.max(FLOOR_MS, random() * cap, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
}

/**
 * How many seconds the service may hold an answer; 0: not at all. An answer confirms keys as of its request, so keys age by
 * two waits between two answers, which must stay below `cachedTtlMs`.
 */
export function waitSeconds(cachedTtlMs: number): number {
  const most = Math.floor((cachedTtlMs - SLACK_MS) / 2_000)
  return Math.min(WAIT_MAX_SECONDS, Math.max(0, most))
}

/** `Retry-After` in milliseconds, from seconds or from a date by this machine's clock. Undefined for anything else. */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
