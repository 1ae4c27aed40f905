import { FLOOR_MS, mostDelay, REQUEST_TIMEOUT_MS } from '../http/schedule.ts'

/** When to poll the feed again. Pure functions; times in milliseconds, `random` returns 0 to below 1. */

/** An unchanged answer that comes sooner than this was not held as promised: the service is shutting down. */
export const HELD_MS = 1_000
/** A request may take this much longer than its answer is held. */
export const HELD_TIMEOUT_SLACK_MS = 5_000
export const WAIT_MAX_SECONDS = 25
/** Less than this is too little for an answer over a new connection. */
const REQUEST_TIMEOUT_MIN_MS = 2_000

/**
 * How long to wait for an answer that is not held. A connection may be dead. Once the keys are stale, it may be slow, and a
 * short timeout would end each attempt.
 */
export const plainTimeout = (lifeMs: number): number =>
  lifeMs > 0 ? Math.min(REQUEST_TIMEOUT_MS, Math.max(REQUEST_TIMEOUT_MIN_MS, lifeMs / 2)) : REQUEST_TIMEOUT_MS

export interface Polled {
  outcome: 'snapshot' | 'delta' | 'unchanged'
  /** Whether the service holds unchanged answers as requested. */
  waits: boolean
  /** Keys may have changed since, because the snapshot had several pages. */
  more: boolean
  /** The first snapshot of a process. The next poll finds out whether the service holds answers. */
  first: boolean
  /** The first answer of a process that the service did not hold. */
  unphased: boolean
  /** `reseeds`: successive snapshots in place of deltas. `stuck`: the last of them, whose version did not rise. */
  reseeds: number
  stuck: number
  /** Answers are held for no longer than this, because longer holds failed. Infinite otherwise. */
  cutToMs: number
  /** How long the keys will be served; 0 or less if an answer came from a cache. */
  lifeMs: number
  tookMs: number
}

/**
 * If the service holds answers: at once. Otherwise one interval after the start of the last request or slightly sooner,
 * never later, because the interval bounds how long a revoked key works. The first interval is cut at random, so that a
 * fleet that starts together does not poll together.
 */
export function delayAfter(polled: Polled, pollIntervalMs: number, random: () => number): number {
  const floor = Math.max(0, FLOOR_MS - polled.tookMs)
  return Math.max(
    floor,
    Math.min(mostDelay(polled.lifeMs, pollIntervalMs), wantedDelay(polled, pollIntervalMs, random)),
  )
}

function wantedDelay(polled: Polled, pollIntervalMs: number, random: () => number): number {
  const { outcome, waits, more, first, unphased, cutToMs, tookMs } = polled
  if (polled.reseeds > 1) return reseedDelay(polled, pollIntervalMs, random) - tookMs
  if (more || first) return 0
  // Holds that were cut to less than the interval would cost the service more than no holds.
  const isBrief = cutToMs < pollIntervalMs
  if (waits && !isBrief && (outcome !== 'unchanged' || tookMs >= HELD_MS)) return 0
  if (unphased) return random() * pollIntervalMs
  return pollIntervalMs * (0.9 + 0.1 * random()) - tookMs
}

/**
 * A service that keeps answering with snapshots is asked once per interval at most, and ever less often while its version
 * does not rise.
 */
function reseedDelay({ stuck, lifeMs }: Polled, pollIntervalMs: number, random: () => number): number {
  const intervals = 2 ** Math.min(16, Math.max(0, stuck - 1))
  return Math.min(Math.max(pollIntervalMs, lifeMs / 2), pollIntervalMs * intervals) * (0.9 + 0.1 * random())
}

/**
 * How many seconds the service may hold an answer; 0: not at all. Even without an answer, the request ends within half of
 * the life that is left.
 *
 * @param lifeMs how long the keys will be served
 */
export function waitSeconds(lifeMs: number): number {
  const most = Math.floor((lifeMs / 2 - HELD_TIMEOUT_SLACK_MS) / 1_000)
  return Math.min(WAIT_MAX_SECONDS, Math.max(0, most))
}
