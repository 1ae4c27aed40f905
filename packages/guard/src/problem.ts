import type { HttpAnswer } from '@keyrail/sdk'

/** Codes of the guard itself. Those of keys and limits are the SDK's. */
export type GuardCode =
  | 'ambiguous_path'
  | 'internal_error'
  | 'method_not_allowed'
  | 'not_found'
  | 'body_too_large'
  | 'unknown_route'
  | 'validation_failed'
  | 'wrong_guard_secret'

const titles = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Content Too Large',
  500: 'Internal Server Error',
} as const

/** A wrong member of a request. `path` names it, such as `scopes.0`. */
export interface Fault {
  path: string
  message: string
}

/** An answer in the form of the SDK's refusals: RFC 9457 problem details. */
export const problem = (
  status: keyof typeof titles,
  code: GuardCode,
  detail: string,
  errors?: readonly Fault[],
): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
  body: { type: 'about:blank', title: titles[status], status, detail, code, ...(errors && { errors }) },
})

export const invalid = (path: string, message: string): HttpAnswer =>
  problem(400, 'validation_failed', `${path} ${message}`, [{ path, message }])
