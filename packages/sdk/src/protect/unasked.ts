import { wasAsked } from '../limits/asked.ts'
import { warn } from '../runtime/reports.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Exchange } from './exchange.ts'

/** Keyrings for which the warning was given. */
const warned = new WeakSet<object>()

/** Whether this key has limits, and nothing is known yet about who charges them. */
export const mayBeUnasked = (keyring: object, { rateLimits }: Valid): boolean =>
  rateLimits !== undefined && rateLimits.length > 0 && !warned.has(keyring)

/**
 * For a guard that was given a keyring alone: warns once for each keyring when a request was answered although its key has
 * limits that nothing asked about. Called after the answer, because `limit` or the handler may ask.
 */
export function warnUnasked(keyring: object, exchange: Exchange, key: Valid): void {
  if (warned.has(keyring) || exchange.charges.size > 0 || wasAsked(key)) return
  warned.add(keyring)
  warn(
    'An API key has limits, but nothing asks about them, so it passes without limits. Give the guard the whole keyrail or a limiter, or say limiter: false.',
    'limits_unasked',
  )
}
