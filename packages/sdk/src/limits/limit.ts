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
import { readFunction, readInteger, readUuid } from '../http/option-values.ts'
import { type HttpProblem, httpProblem } from '../http/problem.ts'
import { KeyringError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import type { Valid } from '../verify/verdict.ts'

export interface LimiterOptions extends ConnectionOptions, ErrorOptions {
  /** The project whose counters are charged. */
  projectId: string
  /** How long a check may take, 1,000 ms unless given. */
  timeoutMs?: number | undefined
  /**
   * What becomes of a request whose limits cannot be checked: `deny`, unless given, answers it 503; `allow` lets it
   * pass uncounted.
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
      code: 'rate_limited' | 'limits_unavailable'
      headers: Readonly<Record<string, string>>
      /** The answer, its headers included: 429, or 503. */
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
 * Asks the service about limits, one call a request: a key without limits costs none. Nothing is asked twice, for
 * a check that was not answered may have been charged.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export function createLimiter(options: LimiterOptions): Limiter {
  refuseUnknown('createLimiter', options, known)
  const call = readConnection(options)
  const projectId = readUuid('projectId', options.projectId)
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 1_000, 1, 60_000)
  const onUnavailable = readOnUnavailable(options.onUnavailable ?? 'deny')
  const reports = new Reports({ onError: readFunction('onError', options.onError), onNotice: undefined })

  async function check(
    { keyId, tenantId, env, rateLimits = [] }: Valid,
    cost: number,
  ): Promise<LimitVerdict> {
    const body: RateLimitCheck = {
      project_id: projectId,
      env,
      key_id: keyId,
      tenant_id: tenantId,
      cost,
      limits: [...rateLimits],
    }
    const { text } = await call({
      method: 'POST',
      path: '/v1/ratelimit/check',
      body,
      accepts: [200],
      timeoutMs,
      maxBytes: ANSWER_MAX_BYTES,
    })
    return readVerdict(text)
  }

  return {
    async limit(key, requirements = {}) {
      try {
        if ((key.rateLimits ?? noRules).length === 0) return noLimits
        const verdict = await check(key, requirements.cost ?? 1)
        reports.success()
        return verdict
      } catch (error) {
        reports.error(error instanceof KeyringError ? error : badAnswer('it was not read'))
        return onUnavailable === 'allow' ? unchecked : unavailable()
      }
    },
  }
}

/** @throws KeyringError `bad_response` */
function readVerdict(text: string): LimitVerdict {
  const { object, allowed, denied_by, headers: told } = parseMembers(text)
  if (object !== 'ratelimit_check') throw badAnswer('object')
  const headers: Record<string, string> = {}
  for (const name of headerNames) {
    const value = (told as Record<string, unknown> | undefined)?.[name]
    if (value === undefined && name === 'Retry-After') continue
    if (typeof value !== 'string' || !/^[\x20-\x7e]+$/.test(value)) throw badAnswer(`headers.${name}`)
    headers[name.toLowerCase()] = value
  }
  if (allowed === true) return { allowed, code: 'allowed', headers }
  if (allowed !== false) throw badAnswer('allowed')
  if (!Array.isArray(denied_by) || !denied_by.every(id => typeof id === 'string'))
    throw badAnswer('denied_by')
  const detail = `The API key has used up its limit ${denied_by.map(id => `"${id}"`).join(', ')}`
  return {
    allowed,
    code: 'rate_limited',
    headers,
    problem: httpProblem({ status: 429, code: 'rate_limited', detail, headers }),
  }
}

const badAnswer = (what: string): KeyringError =>
  new KeyringError('bad_response', `The service's answer is no rate-limit check: ${what}`, {
    retryable: true,
  })

function unavailable(): LimitVerdict {
  const headers = { 'retry-after': '1' }
  const detail = 'The limits of the API key cannot be checked now'
  const problem = httpProblem({ status: 503, code: 'limits_unavailable', detail, headers })
  return { allowed: false, code: 'limits_unavailable', headers, problem }
}
