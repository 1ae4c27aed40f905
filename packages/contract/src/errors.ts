/**
 * The error catalogue: every code that the service can answer with, its status and what it means.
 * `docs/errors.md`, the OpenAPI document and the thrown codes are held against this table by tests.
 *
 * Codes are for programs and never change their meaning; `detail` is for people and may.
 */
export const errors = {
  malformed_request: [400, 'The request is not well-formed HTTP or its path cannot be decoded'],
  malformed_json: [400, 'The body is not well-formed JSON in UTF-8'],
  validation_failed: [400, 'A field of the body or the query is missing, unknown or out of bounds'],
  invalid_token: [400, 'The token is wrong, used, expired or retired'],
  unauthenticated: [401, 'No valid credential was presented'],
  invalid_credentials: [401, 'The e-mail address or the password is wrong'],
  credential_not_accepted: [403, 'The credential is valid, but this route does not accept its kind'],
  email_not_verified: [403, 'The e-mail address of the account is not verified'],
  forbidden: [403, 'The role of the credential does not allow this'],
  owner_required: [403, 'Only an owner may do this'],
  no_workspace: [403, 'The session acts in no workspace'],
  workspace_unproven: [403, 'The person has yet to decide whether to keep the workspace'],
  live_credential_required: [403, 'This needs a live credential'],
  env_mismatch: [403, 'A test credential cannot reach the live environment'],
  origin_not_allowed: [403, 'Requests from this origin are not accepted'],
  insufficient_permission: [403, 'The secret key lacks the permission for this'],
  whole_workspace_required: [
    403,
    'The secret key is limited to projects, and this needs the whole workspace',
  ],
  ip_not_allowed: [403, 'The secret key may not be used from this address'],
  insufficient_scope: [403, 'The embed token does not have the scope for this'],
  not_found: [404, 'The resource does not exist, or you cannot access it'],
  route_not_found: [404, 'The route does not exist'],
  method_not_allowed: [405, 'The route exists, but not for this method'],
  request_timeout: [408, 'The request did not arrive in time'],
  workspace_changed: [409, 'The credential acts in another workspace than the request names'],
  slug_taken: [409, 'The slug is in use'],
  external_id_taken: [409, 'Another tenant has this external_id'],
  already_member: [409, 'This person is already a member'],
  workspace_taken: [409, 'The workspace has members already'],
  workspace_limit_reached: [409, 'The person owns the maximum number of workspaces'],
  last_owner: [409, 'A workspace keeps at least one owner'],
  key_not_active: [409, 'The key is revoked, expired or paused'],
  protected: [409, 'The project or tenant is protected from deletion'],
  count_changed: [409, 'The filter matches another number of keys than expected'],
  key_limit_reached: [409, 'The maximum number of keys is reached'],
  counter_limit_reached: [409, 'The workspace has the maximum number of rate-limit counters'],
  idempotency_key_reused: [409, 'The Idempotency-Key was used with another request'],
  length_required: [411, 'A request without a credential must announce the length of its body'],
  payload_too_large: [413, 'The body is larger than this route accepts'],
  snapshot_too_large: [413, 'The project has too many keys for one snapshot'],
  unsupported_media_type: [415, 'The body must be application/json, not compressed'],
  too_many_requests: [429, 'Too many requests of this kind at once'],
  too_many_in_flight: [429, 'Too many requests of the caller are under way'],
  headers_too_large: [431, 'The header section is too large'],
  internal_error: [500, 'Something failed inside; find it in the log by its request_id'],
  unavailable: [
    503,
    'The store cannot be reached or did not answer in time; it is not known to have changed anything',
  ],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

export type ErrorCode = keyof typeof errors

/** Codes that have another status in an authenticated request. */
const statusWhenAuthenticated: Partial<Record<ErrorCode, number>> = {
  // 401 at sign-in. With a valid session, a wrong `current_password` must not read as an invalid session.
  invalid_credentials: 403,
}

/** The status of a code. @param isAuthenticated whether the request carries a valid credential. */
export const statusOf = (code: ErrorCode, isAuthenticated: boolean): number =>
  (isAuthenticated ? statusWhenAuthenticated[code] : undefined) ?? errors[code][0]

/** A failing field: its dotted path in body or query, and what is wrong with it. */
export interface FieldFault {
  path: string
  message: string
}

/** The body of every error, `application/problem+json`: RFC 9457 problem details. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  errors?: FieldFault[]
  request_id: string
}

/** The page about a code. @param publicUrl the address of the installation, without a trailing slash. */
export const problemType = (publicUrl: string, code: ErrorCode) => `${publicUrl}/errors/${code}`
