import type { RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { LRUCache } from 'lru-cache'
import { serializeItem } from 'structured-headers'
import type { Check, Tally } from './fold.ts'
import { type Cell, fits, type Rule, remaining, resetMs, retryMs } from './window.ts'

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
  const texts = rules.map(textOf)
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
      'RateLimit-Policy': texts.map(({ policy }) => policy).join(', '),
      RateLimit: limits
        .map((limit, i) => `${texts[i]?.name};r=${limit.remaining};t=${seconds(limit.reset_ms)}`)
        .join(', '),
      ...(retryAfterMs !== null && { 'Retry-After': String(Math.max(1, seconds(retryAfterMs))) }),
    },
  }
}

/** What headers say of a limit, whatever is left of it. */
interface HeaderText {
  name: string
  policy: string
}

/** A vendor has few limits and asks about them all day: to write them anew was a tenth of a check. */
const written = new LRUCache<string, HeaderText>({ max: 10_000 })

function textOf({ id, limit, window_ms }: Rule): HeaderText {
  const key = `${id} ${limit} ${window_ms}`
  let text = written.get(key)
  if (text === undefined) {
    const parameters = new Map([
      ['q', limit],
      ['w', seconds(window_ms)],
    ])
    text = { name: serializeItem([id, new Map()]), policy: serializeItem([id, parameters]) }
    written.set(key, text)
  }
  return text
}

const seconds = (ms: number) => Math.ceil(ms / 1000)
