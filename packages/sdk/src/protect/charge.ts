import type { Limiter } from '../limits/limit.ts'
import type { LimitVerdict } from '../limits/verdict.ts'
import type { Valid } from '../verify/verdict.ts'

/** What one request has been charged so far. */
interface Charge {
  key: Valid
  cost: number
  verdict: LimitVerdict
}

type Charging = Pick<Limiter, 'limit'>

const charges = new WeakMap<object, Map<Charging, Charge[]>>()
const newest = new WeakMap<object, LimitVerdict['headers']>()

/**
 * Charges a request once, whatever stands in its chain: of several costs the highest, since nothing can give units back. A
 * key with other rules, or of another customer, is charged for itself.
 *
 * @param exchange an object that identifies this request
 * @param cost 0 to 1,000; 0 checks without taking
 */
export async function chargeOnce(
  limiter: Charging,
  exchange: object,
  key: Valid,
  cost = 1,
): Promise<LimitVerdict> {
  const ofLimiters = charges.get(exchange) ?? new Map<Charging, Charge[]>()
  charges.set(exchange, ofLimiters)
  const before = ofLimiters.get(limiter) ?? []
  ofLimiters.set(limiter, before)
  const charged = before.find(charge => countsAs(charge.key, key))
  if (charged !== undefined && charged.cost >= cost) return charged.verdict
  const verdict = await limiter.limit(key, { cost: cost - (charged?.cost ?? 0) })
  newest.set(exchange, verdict.headers)
  if (!verdict.allowed) return verdict
  if (charged === undefined) before.push({ key, cost, verdict })
  else Object.assign(charged, { cost, verdict })
  return verdict
}

/** The headers of the last charge. A guard adds them to the answer after the handler has run, which may charge too. */
export const newestHeaders = (exchange: object): LimitVerdict['headers'] => newest.get(exchange) ?? {}

/** Whether a limiter was asked about this request. */
export const isCharged = (exchange: object): boolean => charges.has(exchange)

/** Whether both verdicts name the same counters. Each guard verifies anew, and the rules may have changed meanwhile. */
const countsAs = (one: Valid, other: Valid): boolean =>
  one === other ||
  (one.keyId === other.keyId &&
    one.tenantId === other.tenantId &&
    one.env === other.env &&
    JSON.stringify(one.rateLimits) === JSON.stringify(other.rateLimits))
