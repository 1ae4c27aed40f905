/** When to ask again. Pure: times in milliseconds, `random` from 0 up to but not including 1. */

/** Between the starts of two requests, however eager: what a service gone wrong can make a node do. */
export const FLOOR_MS = 100
/** An unchanged answer that was meant to be held and comes sooner than this was not held: a service closing down. */
const HELD_MS = 1_000
const FIRST_BACKOFF_MS = 500
/** The longest `Retry-After` that is obeyed: beyond it keys would go stale for the asking. */
const RETRY_AFTER_MAX_MS = 30_000
/** How many seconds before the next answer a record may come to its end. */
const SLACK_MS = 10_000
const WAIT_MAX_SECONDS = 25

export interface Polled {
  outcome: 'snapshot' | 'delta' | 'unchanged'
  /** Whether the service says that it holds unchanged answers, as it was asked to. */
  waits: boolean
  /** Whether more may have changed while this was taken in: a snapshot of several pages. */
  more: boolean
  /** The first snapshot of a process: what comes next finds out whether the service holds answers. */
  first: boolean
  /** The first answer of a process that the service will not hold. */
  unphased: boolean
  /** Snapshots in a row that came where changes were asked for, and those last of them whose version did not rise. */
  reseeds: number
  stuck: number
  /** The longest pause after which what is held can still be confirmed in time. */
  mostMs: number
  tookMs: number
}

/**
 * Where the service holds answers: at once. Else one interval after the last request began, or a little sooner,
 * and never later: the interval bounds how long a revoked key works. The first of these intervals is cut at random,
 * so that a fleet that starts together does not ask together.
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
 * A service that answers with all keys again and again is asked every interval at most, and where its version does not
 * rise less and less often.
 */
function reseedDelay({ stuck, mostMs }: Polled, pollIntervalMs: number, random: () => number): number {
  const intervals = 2 ** Math.min(16, Math.max(0, stuck - 1))
  const most = Math.max(pollIntervalMs, mostMs)
  return Math.min(most, pollIntervalMs * intervals) * (0.9 + 0.1 * random())
}

/**
 * Before the first poll of a process that has taken up the keys of an earlier one: anywhere within an interval, which
 * is when a process that had gone on would have asked. A fleet that is restarted as a whole asks as it did before.
 */
export const firstDelay = (pollIntervalMs: number, random: () => number): number => random() * pollIntervalMs

/**
 * Exponential with full jitter, at most one interval; later only if the service asks for it.
 *
 * @param failures in a row, this one included
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
 * How long the service may hold an answer, in whole seconds; 0: not at all. What is confirmed counts from when it
 * was asked, so between two answers a record ages by two waits, and that must stay within its life.
 */
export function waitSeconds(cachedTtlMs: number): number {
  const most = Math.floor((cachedTtlMs - SLACK_MS) / 2_000)
  return Math.min(WAIT_MAX_SECONDS, Math.max(0, most))
}

/** `Retry-After` in milliseconds: seconds, or a date by this machine's clock. Undefined for anything else. */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
