import type { ErrorCode, FieldFault } from '../errors.ts'

/**
 * Why a call failed: a code of the service, or one of the browser.
 *
 * - `session_ended`: the service refused two tokens in a row, or the page gave none.
 * - `token_awaited`: `getToken` has not resolved yet.
 * - `misconfigured`: `baseUrl` or `getToken` is not what it must be. The message says which, and what to pass.
 * - `tenant_changed`: the newest token belongs to another tenant than the call was made for.
 * - `offline`: the browser has no network. `unreachable`: the service cannot be reached, or what answered was not it.
 * - `timed_out`: no answer in time. `closed`: the client was closed.
 */
export type EmbedErrorCode =
  | ErrorCode
  | 'session_ended'
  | 'token_awaited'
  | 'misconfigured'
  | 'tenant_changed'
  | 'offline'
  | 'unreachable'
  | 'timed_out'
  | 'closed'

export interface EmbedErrorFacts {
  readonly status?: number | null
  /** What the service calls the request in its log. */
  readonly requestId?: string | null
  /** When the service wants the next try. */
  readonly retryAfterS?: number | null
  readonly faults?: readonly FieldFault[]
  /** Whether a change may have happened although there is no answer. */
  readonly isOutcomeUnknown?: boolean
  readonly cause?: unknown
}

/** A call failed. It carries no token and no key. */
export class EmbedError extends Error {
  declare readonly code: EmbedErrorCode
  declare readonly status: number | null
  declare readonly requestId: string | null
  declare readonly retryAfterS: number | null
  declare readonly faults: readonly FieldFault[]
  declare readonly isOutcomeUnknown: boolean

  constructor(code: EmbedErrorCode, message: string, { cause, ...facts }: EmbedErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EmbedError'
    const none = { status: null, requestId: null, retryAfterS: null, faults: [], isOutcomeUnknown: false }
    Object.assign(this, none, { code }, facts)
  }
}

/** A page may have this module twice, for example from npm and from the service. */
export const isEmbedError = (error: unknown): error is EmbedError => (error as Error)?.name === 'EmbedError'
