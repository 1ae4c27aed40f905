import type { KeyrailErrorCode } from './error-codes.ts'

/** A request field that the service rejected. */
export interface FieldFault {
  /** Its path in body or query, such as `rateLimits.0.windowMs`. */
  path: string
  /** What is wrong with it, in words. */
  message: string
}

/** The facts of an error beside its code and message. */
export interface KeyrailErrorFacts {
  /** HTTP status, if the service answered. */
  status?: number | undefined
  /** The service's id of the request, for its log. */
  requestId?: string | undefined
  /** The page about the error code, as the answer of the service names it: one of the installation. */
  docUrl?: string | undefined
  /** With `validation_failed`: the rejected fields. */
  errors?: readonly FieldFault[] | undefined
  /** Whether the same request may succeed later without any change. */
  retryable: boolean
  /** How long the service asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined
  /** With `secret_lost`: the id of the resource that was made. */
  resourceId?: string | undefined
}

/** An error between this node and the service. It never holds a secret key. */
export class KeyrailError extends Error implements KeyrailErrorFacts {
  override readonly name: string = 'KeyrailError'
  readonly code: KeyrailErrorCode
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly docUrl: string | undefined
  /** With `validation_failed`: the rejected fields. Otherwise empty. */
  readonly errors: readonly FieldFault[]
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly resourceId: string | undefined

  constructor(code: KeyrailErrorCode, message: string, facts: KeyrailErrorFacts) {
    super(message)
    this.code = code
    this.status = facts.status
    this.requestId = facts.requestId
    this.docUrl = facts.docUrl
    this.errors = facts.errors ?? []
    this.retryable = facts.retryable
    this.retryAfterMs = facts.retryAfterMs
    this.resourceId = facts.resourceId
  }
}

/** There are more keys than this node may hold. */
export class PolicyScopeTooLargeError extends KeyrailError {
  override readonly name = 'PolicyScopeTooLargeError'
  /** True: the node has never served, and does not start. False: it continues with the keys that it holds. */
  readonly refusedToStart: boolean
  /** The most keys that the node may hold. */
  readonly maxKeys: number

  constructor({ refusedToStart, maxKeys }: { refusedToStart: boolean; maxKeys: number }) {
    const remedy = 'narrow the keyring with tenantIds, or raise maxCachedKeys'
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
 * Makes `instanceof` recognize errors of the other copy of this package: `import` loads one and `require` another. Classes
 * that extend these are compared as usual.
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

/** An error that may be over at the next attempt. */
export const passing = (code: KeyrailErrorCode, message: string): KeyrailError =>
  new KeyrailError(code, message, { retryable: true })

/** An error that stays until something is changed. */
export const lasting = (code: KeyrailErrorCode, message: string): KeyrailError =>
  new KeyrailError(code, message, { retryable: false })

/** An answer that violates the contract of the feed. Nothing of it was applied. */
export const badResponse = (what: string): KeyrailError =>
  passing('bad_response', `The answer is not a valid answer of the policy feed: ${what}`)

/** Reports a bug in this package like any other error, because a node must not stop polling silently. */
export const asKeyrailError = (error: unknown): KeyrailError =>
  error instanceof KeyrailError
    ? error
    : passing('internal_error', `The keyring failed: ${error instanceof Error ? error.message : 'unknown'}`)
