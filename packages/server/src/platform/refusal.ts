import type { ErrorCode, FieldFault } from '@keyrail/contract/errors'

/** As much of a principal as a security event needs. */
export interface Caller {
  readonly kind: string
  readonly id: string | null
  readonly workspaceId: string | null
}

/**
 * A request that is refused, told in the catalogue's words. Domain code throws codes; what becomes of
 * them outside (status, problem body) is decided in one place, `http/problem.ts`.
 */
export class Refusal extends Error {
  readonly code: ErrorCode
  /** What a person should read; empty where the catalogue's own sentence says it. */
  readonly detail: string
  readonly faults: readonly FieldFault[]
  readonly headers: Readonly<Record<string, string>>
  /** Whether the credential itself is valid, where the code tells of another one that is not. */
  readonly besideCredential: boolean
  /** Whose valid credential it was, where the refusal comes before there is a principal. */
  readonly caller: Caller | null

  /**
   * @param detail what a person should read; the catalogue's own sentence when left out. Never a secret.
   * @param more.cause the inner error, for the log alone.
   */
  constructor(
    code: ErrorCode,
    detail = '',
    more: {
      faults?: FieldFault[]
      headers?: Record<string, string>
      besideCredential?: boolean
      caller?: Caller
      cause?: unknown
    } = {},
  ) {
    super(detail === '' ? code : detail, { cause: more.cause })
    this.code = code
    this.detail = detail
    this.faults = more.faults ?? []
    this.headers = more.headers ?? {}
    this.besideCredential = more.besideCredential ?? false
    this.caller = more.caller ?? null
  }
}

/** A field of body or query that cannot be taken, named by its dotted path. */
export const invalidField = (path: string, message: string) =>
  new Refusal('validation_failed', `${path}: ${message}`, { faults: [{ path, message }] })
