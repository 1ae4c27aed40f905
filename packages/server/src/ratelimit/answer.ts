import type { RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { type Item, serializeList } from 'structured-headers'
import type { Check, Tally } from './fold.ts'
import { type Cell, fits, remaining, resetMs, retryMs } from './window.ts'

/** What a vendor's server is told: the numbers, and the headers that it may send on as they are. */
export function toVerdict({ rules, cost }: Check, { now, allowed, cells }: Tally): RateLimitVerdict {
  const limits = rules.map((rule, i) => {
    const cell = cells[i] as Cell
    return {
      ...rule,
      allowed: allowed || fits(cell, rule, cost, now),
      remaining: remaining(cell, rule, now),
      reset_ms: resetMs(cell, rule, now),
    }
  })
  const waits = allowed ? [] : rules.map((rule, i) => retryMs(cells[i] as Cell, rule, cost, now))
  const retryAfterMs = allowed || waits.includes(null) ? null : Math.max(...(waits as number[]))
  return {
    object: 'ratelimit_check',
    allowed,
    cost,
    denied_by: limits.filter(limit => !limit.allowed).map(({ id }) => id),
    retry_after_ms: retryAfterMs,
    limits,
    headers: {
      'RateLimit-Policy': serializeList(
        limits.map(({ id, limit, window_ms }) => item(id, { q: limit, w: seconds(window_ms) })),
      ),
      RateLimit: serializeList(
        limits.map(limit => item(limit.id, { r: limit.remaining, t: seconds(limit.reset_ms) })),
      ),
      ...(retryAfterMs !== null && { 'Retry-After': String(Math.max(1, seconds(retryAfterMs))) }),
    },
  }
}

const item = (id: string, parameters: Record<string, number>): Item => [
  id,
  new Map(Object.entries(parameters)),
]

const seconds = (ms: number) => Math.ceil(ms / 1000)
