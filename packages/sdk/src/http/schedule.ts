/** When to send a failed request again. Pure functions; times in milliseconds, `random` returns 0 to below 1. */

/** Least time between the starts of two requests, to limit the load from a faulty service. */
export const FLOOR_MS = 100
const FIRST_BACKOFF_MS = 500
/** The longest `Retry-After` that is honoured. */
const RETRY_AFTER_MAX_MS = 30_000
export const REQUEST_TIMEOUT_MS = 10_000
interface Failed {
  /** In a row, including this one. */
  failures: number
  retryAfterMs?: number | undefined
  /** How long the keys will be served; 0 or less: they are stale. Undefined: there is nothing that goes stale. */
  lifeMs?: number | undefined
}

/**
 * Exponential with full jitter, at most one interval; longer only if the service asks for it. Never
 * longer than the life that is left allows.
 */
export function delayAfterError(
  { failures, retryAfterMs = 0, lifeMs }: Failed,
  pollIntervalMs: number,
  random: () => number,
): number {
  const cap = Math.min(pollIntervalMs, FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 16))
  const wanted = Math.max(FLOOR_MS, random() * cap, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS))
  if (lifeMs === undefined) return wanted
  return Math.max(FLOOR_MS, Math.min(mostDelay(lifeMs, pollIntervalMs), wanted))
}

/**
 * Half of the life that is left, so that another attempt fits, and one interval when the keys are stale. The halves of the
 * last second would be a burst of requests, from a whole fleet at once.
 */
export const mostDelay = (lifeMs: number, pollIntervalMs: number): number =>
  lifeMs > 0 ? Math.max(FIRST_BACKOFF_MS, lifeMs / 2) : pollIntervalMs

/** `Retry-After` in milliseconds, from seconds or from a date by this machine's clock. Undefined for anything else. */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
