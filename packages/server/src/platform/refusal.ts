/**
 * What every room may use and what knows no room: the folders `db/`, `http/`, `mail/`, `crypto/`, `jobs/`,
 * `concurrency/`, `paging/`, `observe/`, `network/`, `files/`, `host/`. Here: `refusal.ts`, an error of the catalogue,
 * and `budgets.ts`, how long the service waits for its stores; `clock.ts`, `time.ts` and `ids.ts`; `chores.ts`, the
 * upkeep of the tables below.
 */

import type { ErrorCode, FieldFault } from '@keyrail/contract/errors'

/** The part of a principal that a security event needs. */
export interface RefusedCaller {
  readonly kind: string
  readonly id: string | null
  readonly workspaceId: string | null
}

/**
 * A refused request, as a code of the catalogue. Domain code throws codes; one place, `http/problem.ts`, turns
 * them into a status and a problem body.
 */
export class Refusal extends Error {
  readonly code: ErrorCode
  /** The message for a person; empty if the catalogue's own sentence is enough. */
  readonly detail: string
  readonly faults: readonly FieldFault[]
  readonly headers: Readonly<Record<string, string>>
  /** The owner of the valid credential, if the refusal comes before there is a principal. */
  readonly caller: RefusedCaller | null

  /**
   * @param detail the message for a person; by default the catalogue's own sentence. Never a secret.
   * @param more.cause the inner error, only for the log.
   */
  constructor(
    code: ErrorCode,
    detail = '',
    more: {
      faults?: FieldFault[]
      headers?: Record<string, string>
      caller?: RefusedCaller
      cause?: unknown
    } = {},
  ) {
    super(detail === '' ? code : detail, { cause: more.cause })
    this.code = code
    this.detail = detail
    this.faults = more.faults ?? []
    this.headers = more.headers ?? {}
    this.caller = more.caller ?? null
  }
}

/** The process has no memory for a body or a response, or its client is gone. The store is not at fault. */
export class NoCapacity extends Refusal {
  constructor(headers: Record<string, string> = {}) {
    super('unavailable', '', { headers })
  }
}

/** The client hung up while its response was made: no client gets this refusal. */
export class ClientGone extends NoCapacity {}

/** The caller's own requests cause this refusal, not the load of the service. */
export const tooManyInFlight = (detail = 'Too many of your requests are under way.') =>
  new Refusal('too_many_in_flight', detail, { headers: { 'retry-after': '1' } })

/** A field of body or query that is invalid, named by its dotted path. */
export const invalidField = (path: string, message: string) =>
  new Refusal('validation_failed', `${path}: ${message}`, { faults: [{ path, message }] })
