import {
  type ErrorCode,
  errors,
  type Problem,
  problemType,
  statusBesideCredential,
} from '@keyrail/contract/errors'
import type { FastifyError } from 'fastify'
import { Refusal } from '../refusal.ts'

/** What Fastify itself refuses, in the catalogue's words. */
const frameworkCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_ASYNC_CONSTRAINT: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'route_not_found',
}

/**
 * The one place where an inner error becomes an outward one. What is not a refusal is a 500 that tells
 * nothing of the inside; `request_id` leads from it to the log.
 */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const { code = '', message } = (error ?? {}) as Partial<FastifyError>
  // Node's own word for a request whose sender has gone in the middle of it.
  const isCutShort = code === 'ECONNRESET' && message === 'aborted'
  const known = isCutShort ? 'malformed_request' : frameworkCodes[code]
  return new Refusal(known ?? 'internal_error', '', { cause: error })
}

export function toProblem(refusal: Refusal, requestId: string): Problem {
  const [catalogued, title] = errors[refusal.code]
  const status = (refusal.besideCredential && statusBesideCredential[refusal.code]) || catalogued
  return {
    type: problemType(refusal.code),
    title,
    status,
    detail: refusal.detail === '' ? `${title}.` : refusal.detail,
    code: refusal.code,
    ...(refusal.faults.length > 0 && { errors: [...refusal.faults] }),
    request_id: requestId,
  }
}
