import type { RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { serializeItem } from 'structured-headers'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import type { Check, Tally } from './fold.ts'
import { type Cell, fits, type Rule, remaining, resetMs, retryMs } from './window.ts'

/** The answer for a vendor's server: the numbers, and headers that it may send on unchanged. */
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
  const names = rules.map(textOf)
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
      'RateLimit-Policy': names.map(({ policy }) => policy).join(', '),
      RateLimit: limits
        .map((limit, i) => `${names[i]?.name};r=${limit.remaining};t=${seconds(limit.reset_ms)}`)
        .join(', '),
      ...(retryAfterMs !== null && { 'Retry-After': String(Math.max(1, seconds(retryAfterMs))) }),
    },
  }
}

/** The part of the headers that depends on the limit alone, not on how much of the limit is left. */
interface HeaderText {
  name: string
  policy: string
}

/** A vendor has few limits and checks them all day. Serialising these headers each time took a tenth of a check. */
const texts = recentlyUsed<HeaderText>(10_000)

function textOf({ id, limit, window_ms }: Rule): HeaderText {
  const key = `${id} ${limit} ${window_ms}`
  let text = texts.get(key)
  if (text === undefined) {
    const parameters = new Map([
      ['q', limit],
      ['w', seconds(window_ms)],
    ])
    text = { name: serializeItem([id, new Map()]), policy: serializeItem([id, parameters]) }
    texts.set(key, text)
  }
  return text
}

const seconds = (ms: number) => Math.ceil(ms / 1000)
