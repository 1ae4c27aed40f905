import type { LimitVerdict } from '../limits/verdict.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Charging, Exchange } from './exchange.ts'

/**
 * Charges a request once, whatever stands in its chain: of several costs the highest, since nothing can give units back. A
 * key with other rules, or of another customer, is charged for itself.
 *
 * @param cost 0 to 1,000; 0 checks without taking
 */
export async function chargeOnce(
  limiter: Charging,
  exchange: Exchange,
  key: Valid,
  cost = 1,
): Promise<LimitVerdict> {
  const before = exchange.charges.get(limiter) ?? []
  exchange.charges.set(limiter, before)
  const charged = before.find(charge => countsAs(charge.key, key))
  if (charged !== undefined && charged.cost >= cost) return charged.verdict
  const verdict = await limiter.limit(key, { cost: cost - (charged?.cost ?? 0) })
  exchange.limitHeaders = verdict.headers
  if (!verdict.allowed) return verdict
  if (charged === undefined) before.push({ key, cost, verdict })
  else Object.assign(charged, { cost, verdict })
  return verdict
}

/** Whether both verdicts name the same counters. Each guard verifies anew, and the rules may have changed meanwhile. */
const countsAs = (one: Valid, other: Valid): boolean =>
  one === other ||
  (one.keyId === other.keyId &&
    one.tenantId === other.tenantId &&
    one.env === other.env &&
    JSON.stringify(one.rateLimits) === JSON.stringify(other.rateLimits))
