import { type HttpProblem, httpProblem, misusedProblem } from '../http/problem.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import type { LimitState } from './answer.ts'

/**
 * What decided: a call of the service; units that were charged before, see `prepay`; or a denial of the service that still
 * holds.
 */
export type LimitSource = 'service' | 'prepaid' | 'remembered'

/** What every verdict of a limiter says. */
export interface LimitNumbers {
  /** What is left of the limits that decided; absent if the service did not say. */
  limits?: readonly LimitState[] | undefined
  /** Absent if nothing was checked. */
  source?: LimitSource | undefined
  headers: Readonly<Record<string, string>>
}

/** The result of a check. Send `headers` with any answer. */
export type LimitVerdict =
  | (LimitNumbers & {
      allowed: true
      /**
       * `no_limits`: the key has none. `unchecked`: the service was unavailable, and `onUnavailable` is `allow`; or the secret
       * key may not check limits.
       */
      code: 'allowed' | 'no_limits' | 'unchecked'
    })
  | (LimitNumbers & {
      allowed: false
      /** `misused`: the argument is not the verdict of a valid key, or the cost is invalid. `onError` receives the details. */
      code: 'rate_limited' | 'limits_unavailable' | 'misused'
      /** The answer to send, with its headers: 429, 503 or 500. */
      problem: HttpProblem
    })

/** Two verdicts without any information about a key. */
export const noLimits: LimitVerdict = Object.freeze({
  allowed: true,
  code: 'no_limits',
  headers: Object.freeze({}),
})
export const unchecked: LimitVerdict = Object.freeze({ ...noLimits, code: 'unchecked' })

export function denial(deniedBy: readonly string[], numbers: LimitNumbers): LimitVerdict {
  const detail = `The API key has used up its limit ${deniedBy.map(id => `"${id}"`).join(', ')}`
  const { headers } = numbers
  const problem = httpProblem(429, 'rate_limited', detail, { headers })
  return { allowed: false, code: 'rate_limited', ...numbers, problem }
}

export function unavailable(): LimitVerdict {
  const headers = { 'retry-after': '1' }
  const detail = 'The limits of the API key cannot be checked now'
  const problem = httpProblem(503, 'limits_unavailable', detail, { headers })
  return { allowed: false, code: 'limits_unavailable', headers, problem }
}

export function misused(): LimitVerdict {
  const problem = misusedProblem()
  return { allowed: false, code: 'misused', headers: {}, problem }
}

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/** As the service writes them. */
export function headersOf(
  parts: readonly { rule: RateLimit }[],
  states: readonly LimitState[],
): Record<'ratelimit-policy' | 'ratelimit', string> {
  const policy = parts.map(({ rule: { id, limit, windowMs } }) => `"${id}";q=${limit};w=${seconds(windowMs)}`)
  const left = states.map(({ id, remaining, resetMs }) => `"${id}";r=${remaining};t=${seconds(resetMs)}`)
  return { 'ratelimit-policy': policy.join(', '), ratelimit: left.join(', ') }
}

/** Nothing if the request never fits, or the service does not say. */
export const retryAfter = (milliseconds: number | null | undefined): { 'retry-after'?: string } =>
  milliseconds === null || milliseconds === undefined
    ? {}
    : { 'retry-after': String(Math.max(1, seconds(milliseconds))) }
