import type { KeyrailErrorCode } from './error-codes.ts'

/** A field that the service refused. */
export interface FieldFault {
  /** Where it stands in body or query, with dots: `rate_limits.0.limit`. */
  path: string
  /** What is wrong with it, for people. */
  message: string
}

/** What is known of an error beside its code and its message. */
export interface KeyrailErrorFacts {
  /** HTTP status, where the service answered. */
  status?: number | undefined
  requestId?: string | undefined
  docUrl?: string | undefined
  /** With `validation_failed`: the fields that were refused. */
  errors?: readonly FieldFault[] | undefined
  /** Whether the same request may succeed later without anybody changing anything. */
  retryable: boolean
  /** How long the service asked to be left alone, in milliseconds. */
  retryAfterMs?: number | undefined
}

/** Something between this node and the service went wrong. No error holds a secret key. */
export class KeyrailError extends Error {
  override readonly name: string = 'KeyrailError'
  readonly code: KeyrailErrorCode
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly docUrl: string | undefined
  /** With `validation_failed`: the fields that the service refused, which is the first of them. Else empty. */
  readonly errors: readonly FieldFault[]
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined

  constructor(code: KeyrailErrorCode, message: string, facts: KeyrailErrorFacts) {
    super(message)
    this.code = code
    this.status = facts.status
    this.requestId = facts.requestId
    this.docUrl = facts.docUrl
    this.errors = facts.errors ?? []
    this.retryable = facts.retryable
    this.retryAfterMs = facts.retryAfterMs
  }
}

/** There are more keys than this node may hold. */
export class PolicyScopeTooLargeError extends KeyrailError {
  override readonly name = 'PolicyScopeTooLargeError'
  /** True where the node has never served and therefore will not; false where it keeps serving what it has. */
  readonly refusedToStart: boolean
  /** How many keys it may hold at most. */
  readonly maxKeys: number

  constructor({ refusedToStart, maxKeys }: { refusedToStart: boolean; maxKeys: number }) {
    const remedy = 'narrow the keyring with tenantIds, or give it room with maxCachedKeys'
    super(
      'policy_scope_too_large',
      `There are more than ${maxKeys} keys, the most this node may hold: ${remedy}`,
      {
        retryable: !refusedToStart,
      },
    )
    this.refusedToStart = refusedToStart
    this.maxKeys = maxKeys
  }
}

/**
 * Makes `instanceof` know what the other copy of this package made: `import` loads one and `require` another. A class
 * that somebody derives from one of these is judged as any class is.
 */
function knowAcrossCopies(ours: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`@keyrail/sdk ${name}`)
  const judge = Function.prototype[Symbol.hasInstance]
  Object.defineProperty(ours.prototype, mark, { value: true })
  Object.defineProperty(ours, Symbol.hasInstance, {
    value(this: unknown, error: unknown) {
      return this === ours ? mark in Object(error) : judge.call(this, error)
    },
  })
}
knowAcrossCopies(KeyrailError, 'KeyrailError')
knowAcrossCopies(PolicyScopeTooLargeError, 'PolicyScopeTooLargeError')

/** An answer that breaks the contract of the feed. Nothing of it was applied. */
export const badResponse = (what: string): KeyrailError =>
  new KeyrailError('bad_response', `The service's answer is not one of the policy feed: ${what}`, {
    retryable: true,
  })

/** A fault of ours is reported like any other: a node that stops to poll in silence is the worst of outcomes. */
export const asKeyrailError = (error: unknown): KeyrailError =>
  error instanceof KeyrailError
    ? error
    : new KeyrailError(
        'internal_error',
        `The keyring failed: ${error instanceof Error ? error.message : 'unknown'}`,
        {
          retryable: true,
        },
      )
