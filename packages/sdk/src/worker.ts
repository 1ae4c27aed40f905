/** What bundlers for workers find in place of this package, and `@keyrail/sdk/worker`: all that needs no Node. */
export type { ConnectionOptions, ErrorOptions, OnUnavailable } from './connection-options.ts'
export { KeyringError, type KeyringErrorFacts, PolicyScopeTooLargeError } from './errors.ts'
export { fingerprintOf, type RequestParts } from './fingerprint.ts'
export type { HeldClaim } from './held-claim.ts'
export type { HttpProblem } from './http-problem.ts'
export {
  createIdempotency,
  type Idempotency,
  type IdempotencyOptions,
  type IdempotencyVerdict,
  type IdempotentRequest,
} from './idempotent.ts'
export {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type LimitRequirements,
  type LimitVerdict,
} from './limit.ts'
export { createKeyring, createUsageReporter } from './not-in-workers.ts'
export type { Notice } from './options.ts'
export type { RateLimit } from './rate-limits.ts'
export type { AnswerHeaders, StoredAnswer } from './stored-answer.ts'
export { type RefusalCode, type Refused, refusals, type Valid, type Verdict } from './verdict.ts'
export type { Requirements } from './verify.ts'
export {
  createWorkerKeyring,
  type RequestContext,
  type WorkerKeyring,
  type WorkerKeyringOptions,
} from './worker-keyring.ts'
