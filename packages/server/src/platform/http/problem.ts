import { type ErrorCode, errors, type Problem, problemType, statusOf } from '@keyrail/contract/errors'
import type { FastifyError } from 'fastify'
import { Refusal } from '../refusal.ts'

/** Fastify's own errors as codes of the catalogue. */
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
 * The only place where an internal error becomes a response. Anything but a refusal is a 500 that reveals
 * nothing internal; `request_id` leads from it to the log.
 */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error
  const { code = '', message } = (error ?? {}) as Partial<FastifyError>
  // Node's error for a request whose sender hung up before its end.
  const isCutShort = code === 'ECONNRESET' && message === 'aborted'
  const known = isCutShort ? 'malformed_request' : frameworkCodes[code]
  return new Refusal(known ?? 'internal_error', '', { cause: error })
}

/** @param isAuthenticated whether the refused request carries a valid credential. */
export type ToProblem = (refusal: Refusal, requestId: string, isAuthenticated?: boolean) => Problem

/** @param publicUrl the installation, which has a page for each code. */
export const problemsOf =
  (publicUrl: string): ToProblem =>
  (refusal, requestId, isAuthenticated = false) => {
    const [, title] = errors[refusal.code]
    return {
      type: problemType(publicUrl, refusal.code),
      title,
      status: statusOf(refusal.code, isAuthenticated),
      detail: refusal.detail === '' ? `${title}.` : refusal.detail,
      code: refusal.code,
      ...(refusal.faults.length > 0 && { errors: [...refusal.faults] }),
      request_id: requestId,
    }
  }
