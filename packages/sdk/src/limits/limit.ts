import { isFailedCall, withBreaker } from '../http/breaker.ts'
import { parseMembers } from '../http/call.ts'
import type { RateLimitCheck } from '../http/call-types.ts'
import {
  type ConnectionOptions,
  type ErrorOptions,
  type OnUnavailable,
  readConnection,
  readOnUnavailable,
  refuseUnknown,
} from '../http/connection-options.ts'
import { isOutage } from '../http/failure.ts'
import { readFunction, readInteger, readProject } from '../http/option-values.ts'
import { type HttpProblem, httpProblem, misusedProblem } from '../http/problem.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { toWireRateLimits } from '../store/rate-limits.ts'
import { requireValid } from '../verify/require-valid.ts'
import type { Valid } from '../verify/verdict.ts'
import { readCost } from './cost.ts'
import { Denials, type Denied } from './denials.ts'

export interface LimiterOptions extends ConnectionOptions, ErrorOptions {
  /** The project whose counters are charged; `KEYRAIL_PROJECT` unless given. */
  projectId?: string | undefined
  /** How long a check may take, 1,000 ms unless given. */
  timeoutMs?: number | undefined
  /**
   * What becomes of a request whose limits cannot be checked: `deny`, unless given, answers it 503; `allow` lets it
   * pass uncounted while the service is away. What the service refuses, as with a revoked secret key, is denied.
   */
  onUnavailable?: OnUnavailable | undefined
}

/** What a request asks of the limits of its key. */
export interface LimitRequirements {
  /** What the request takes of every limit, 0 to 1,000, 1 unless given; 0 looks without taking. */
  cost?: number | undefined
}

/** What a request is told of its limits. `headers` are to be sent whatever it is answered. */
export type LimitVerdict =
  | {
      allowed: true
      /** `no_limits`: the key has none. `unchecked`: the service could not be asked, and that was chosen to pass. */
      code: 'allowed' | 'no_limits' | 'unchecked'
      headers: Readonly<Record<string, string>>
    }
  | {
      allowed: false
      /** `misused`: what was handed over is no verdict of a valid key, or no cost. `onError` is told which. */
      code: 'rate_limited' | 'limits_unavailable' | 'misused'
      headers: Readonly<Record<string, string>>
      /** The answer, its headers included: 429, 503, or 500. */
      problem: HttpProblem
    }

/** Charges requests to the limits of their keys; made by `createLimiter`. */
export interface Limiter {
  /** Charges a request to the limits of its key, all of them or none. Never rejects. */
  limit(key: Valid, requirements?: LimitRequirements): Promise<LimitVerdict>
}

const known: { readonly [Name in keyof Required<LimiterOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  insecure: true,
  projectId: true,
  timeoutMs: true,
  onUnavailable: true,
  fetch: true,
  onError: true,
}
export const limiterOptionNames = Object.keys(known)

const ANSWER_MAX_BYTES = 64 * 1024
const headerNames = ['RateLimit-Policy', 'RateLimit', 'Retry-After'] as const
const noRules: NonNullable<Valid['rateLimits']> = []
/** Two verdicts that tell nothing of any key. */
const noLimits: LimitVerdict = Object.freeze({
  allowed: true,
  code: 'no_limits',
  headers: Object.freeze({}),
})
const unchecked: LimitVerdict = Object.freeze({ ...noLimits, code: 'unchecked' })

/**
 * Asks the service about limits, one call a request: a key without limits costs none, and neither does one that was denied
 * less than a second ago and has no room yet. Nothing is asked twice, for a check that was not answered may have been
 * charged. While the service hangs one request at a time asks it, and `onUnavailable` decides for the others at once.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export const createLimiter = (options: LimiterOptions = {}): Limiter =>
  openLimiter(options, { now: () => performance.now() })

/** The same in a world of the caller's making. */
export function openLimiter(options: LimiterOptions, { now }: { now: () => number }): Limiter {
  refuseUnknown('createLimiter', options, known)
  const call = withBreaker(readConnection(options))
  const denials = new Denials(now)
  const projectId = readProject(options.projectId)
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 1_000, 1, 60_000)
  const onUnavailable = readOnUnavailable(options.onUnavailable ?? 'deny')
  const reports = new Reports({ onError: readFunction('onError', options.onError), onNotice: undefined })

  async function check(key: Valid, cost: number): Promise<LimitVerdict> {
    const { keyId, tenantId, env, rateLimits = [] } = key
    const askedAt = denials.now
    const body: RateLimitCheck = {
      project_id: projectId,
      env,
      key_id: keyId,
      tenant_id: tenantId,
      cost,
      // As they came: the service judges them, and may know more than this version.
      limits: toWireRateLimits(rateLimits) as unknown as RateLimitCheck['limits'],
    }
    const { text } = await call({
      method: 'POST',
      path: '/v1/ratelimit/check',
      body,
      accepts: [200],
      timeoutMs,
      maxBytes: ANSWER_MAX_BYTES,
    })
    const { verdict, denied } = readVerdict(text)
    if (denied !== undefined) denials.add(key, cost, askedAt, denied)
    return verdict
  }

  return {
    async limit(key, requirements = {}) {
      try {
        const cost = readUse(key, requirements)
        if ((key.rateLimits ?? noRules).length === 0) return noLimits
        const denied = denials.find(key, cost)
        if (denied !== undefined) return remembered(denied)
        const verdict = await check(key, cost)
        reports.success()
        return verdict
      } catch (error) {
        if (isFailedCall(error))
          reports.error(error instanceof KeyrailError ? error : badAnswer('it was not read'))
        if ((error as Partial<KeyrailError>).code === 'misused') return misused()
        return onUnavailable === 'allow' && isOutage(error) ? unchecked : unavailable()
      }
    },
  }
}

/**
 * @returns the cost
 * @throws KeyrailError `misused`
 */
function readUse(key: Valid, requirements: LimitRequirements): number {
  requireValid('limiter.limit', key)
  try {
    readRateLimits(key.rateLimits)
    return readRequirements('limiter.limit', requirements)
  } catch (error) {
    throw new KeyrailError('misused', (error as TypeError).message, { retryable: false })
  }
}

function readRateLimits(rateLimits: unknown): void {
  if (rateLimits !== undefined && rateLimits !== null && !Array.isArray(rateLimits)) {
    throw new TypeError('rateLimits must be an array')
  }
}

const requirementNames: { readonly [Name in keyof Required<LimitRequirements>]: true } = { cost: true }

/**
 * @returns the cost
 * @throws TypeError
 */
export function readRequirements(maker: string, requirements: LimitRequirements): number {
  refuseUnknown(maker, requirements, requirementNames)
  return readCost(requirements.cost)
}

/**
 * @returns the denial, where there is one to remember
 * @throws KeyrailError `bad_response`
 */
function readVerdict(text: string): { verdict: LimitVerdict; denied?: Denied | undefined } {
  const { object, allowed, denied_by, retry_after_ms, headers: told } = parseMembers(text)
  if (object !== 'ratelimit_check') throw badAnswer('object')
  const headers: Record<string, string> = {}
  for (const name of headerNames) {
    const value = (told as Record<string, unknown> | undefined)?.[name]
    if (value === undefined && name === 'Retry-After') continue
    if (typeof value !== 'string' || !/^[\x20-\x7e]+$/.test(value)) throw badAnswer(`headers.${name}`)
    headers[name.toLowerCase()] = value
  }
  if (allowed === true) return { verdict: { allowed, code: 'allowed', headers } }
  if (allowed !== false) throw badAnswer('allowed')
  if (!Array.isArray(denied_by) || !denied_by.every(id => typeof id === 'string'))
    throw badAnswer('denied_by')
  const verdict = denial(denied_by, headers)
  const isTold = retry_after_ms === null || (typeof retry_after_ms === 'number' && retry_after_ms > 0)
  if (!isTold) return { verdict }
  const { ratelimit: state = '', 'ratelimit-policy': policy = '' } = headers
  return { verdict, denied: { deniedBy: denied_by, retryAfterMs: retry_after_ms, policy, state } }
}

function denial(deniedBy: readonly string[], headers: Readonly<Record<string, string>>): LimitVerdict {
  const detail = `The API key has used up its limit ${deniedBy.map(id => `"${id}"`).join(', ')}`
  const problem = httpProblem({ status: 429, code: 'rate_limited', detail, headers })
  return { allowed: false, code: 'rate_limited', headers, problem }
}

function remembered({ deniedBy, retryAfterMs, policy, state }: Denied): LimitVerdict {
  const seconds = retryAfterMs === null ? undefined : String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
  return denial(deniedBy, {
    'ratelimit-policy': policy,
    ratelimit: state,
    ...(seconds !== undefined && { 'retry-after': seconds }),
  })
}

const badAnswer = (what: string): KeyrailError =>
  new KeyrailError('bad_response', `The service's answer is no rate-limit check: ${what}`, {
    retryable: true,
  })

function unavailable(): LimitVerdict {
  const headers = { 'retry-after': '1' }
  const detail = 'The limits of the API key cannot be checked now'
  const problem = httpProblem({ status: 503, code: 'limits_unavailable', detail, headers })
  return { allowed: false, code: 'limits_unavailable', headers, problem }
}

function misused(): LimitVerdict {
  const problem = misusedProblem()
  return { allowed: false, code: 'misused', headers: {}, problem }
}
