import { type HttpProblem, httpProblem } from '../http/problem.ts'
import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { Claim } from './client.ts'

/** Why a request is not executed, beside what its key lacks. */
export type IdempotencyCode =
  | 'idempotency_in_progress'
  | 'idempotency_key_reused'
  | 'idempotency_not_replayable'
  | 'idempotency_key_invalid'
  | 'idempotency_key_missing'
  | 'idempotency_body_unread'
  | 'idempotency_body_too_large'
  | 'idempotency_unavailable'

/** The verdict on a request that is neither executed nor replayed. */
export const refuse = (problem: HttpProblem): { verdict: 'refuse'; problem: HttpProblem } => ({
  verdict: 'refuse',
  problem,
})

export function problemOf(
  claim: Exclude<Claim, { verdict: 'execute' | 'replay' }>,
): HttpProblem<IdempotencyCode> {
  if (claim.verdict === 'in_progress') {
    const seconds = Math.max(1, Math.ceil(claim.retryAfterMs / 1_000))
    return httpProblem(
      409,
      'idempotency_in_progress',
      'The first request with this Idempotency-Key is still in progress',
      { headers: { 'retry-after': String(seconds) } },
    )
  }
  if (claim.verdict === 'mismatch') {
    return httpProblem(422, 'idempotency_key_reused', 'This Idempotency-Key was used for another request')
  }
  return httpProblem(
    409,
    'idempotency_not_replayable',
    'The request was executed, but its answer was not kept',
  )
}

export const badKey = (): HttpProblem<IdempotencyCode> =>
  httpProblem(
    400,
    'idempotency_key_invalid',
    'Idempotency-Key must be sent once, with 1 to 255 printable ASCII characters',
  )

export const missingKey = (): HttpProblem<IdempotencyCode> =>
  httpProblem(400, 'idempotency_key_missing', 'This request needs an Idempotency-Key')

export const unreadBody = (): HttpProblem<IdempotencyCode> =>
  httpProblem(
    415,
    'idempotency_body_unread',
    'With an Idempotency-Key the body must have a type that this API parses',
  )

export const largeBody = (): HttpProblem<IdempotencyCode> =>
  httpProblem(
    413,
    'idempotency_body_too_large',
    'The body is too large for a request with an Idempotency-Key',
  )

export const lesserKey = (): HttpProblem =>
  httpProblem(
    403,
    'insufficient_scope',
    'This request was executed with an API key that has scopes which this one lacks',
  )

export const cannotClaim = (): HttpProblem<IdempotencyCode> =>
  httpProblem(
    503,
    'idempotency_unavailable',
    'This API cannot check now whether the request was executed before',
    { headers: { 'retry-after': '1' } },
  )

export const unreadable = (): KeyrailError =>
  passing('bad_response', 'The idempotency verdict cannot be read')
