import { type HttpProblem, httpProblem } from '../http/problem.ts'
import { KeyrailError } from '../runtime/errors.ts'
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

/** Answers to requests that are neither executed nor replayed. */

export function problemOf(
  claim: Exclude<Claim, { verdict: 'execute' | 'replay' }>,
): HttpProblem<IdempotencyCode> {
  if (claim.verdict === 'in_progress') {
    const seconds = Math.max(1, Math.ceil(claim.retryAfterMs / 1_000))
    return httpProblem({
      status: 409,
      code: 'idempotency_in_progress',
      detail: 'The first request with this Idempotency-Key is still in progress',
      headers: { 'retry-after': String(seconds) },
    })
  }
  if (claim.verdict === 'mismatch') {
    return httpProblem({
      status: 422,
      code: 'idempotency_key_reused',
      detail: 'This Idempotency-Key was used for another request',
    })
  }
  return httpProblem({
    status: 409,
    code: 'idempotency_not_replayable',
    detail: 'The request was executed, but its answer was not kept',
  })
}

export const badKey = (): HttpProblem<IdempotencyCode> =>
  httpProblem({
    status: 400,
    code: 'idempotency_key_invalid',
    detail: 'Idempotency-Key must be sent once, with 1 to 255 printable ASCII characters',
  })

export const missingKey = (): HttpProblem<IdempotencyCode> =>
  httpProblem({
    status: 400,
    code: 'idempotency_key_missing',
    detail: 'This request needs an Idempotency-Key',
  })

export const unreadBody = (): HttpProblem<IdempotencyCode> =>
  httpProblem({
    status: 415,
    code: 'idempotency_body_unread',
    detail: 'With an Idempotency-Key the body must have a type that this API parses',
  })

export const largeBody = (): HttpProblem<IdempotencyCode> =>
  httpProblem({
    status: 413,
    code: 'idempotency_body_too_large',
    detail: 'The body is too large for a request with an Idempotency-Key',
  })

export const lesserKey = (): HttpProblem =>
  httpProblem({
    status: 403,
    code: 'insufficient_scope',
    detail: 'This request was executed with an API key that has scopes which this one lacks',
  })

export const cannotClaim = (): HttpProblem<IdempotencyCode> =>
  httpProblem({
    status: 503,
    code: 'idempotency_unavailable',
    detail: 'This API cannot check now whether the request was executed before',
    headers: { 'retry-after': '1' },
  })

export const unreadable = (): KeyrailError =>
  new KeyrailError('bad_response', 'The idempotency verdict cannot be read', { retryable: true })
