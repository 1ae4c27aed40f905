/** Bundlers for workers load this in place of the package, and as `@keyrail/sdk/worker`: everything that needs no Node. */
export { createEmbed, type Embed, type EmbedOptions, type EmbedTokenRequest } from './embed/client.ts'
export type { ConnectionOptions, ErrorOptions, OnUnavailable } from './http/connection-options.ts'
export type { HttpProblem } from './http/problem.ts'
export type { SecretKeySource } from './http/secret-key.ts'
export { fingerprintOf, type RequestParts } from './idempotency/fingerprint.ts'
export type { HeldClaim } from './idempotency/held-claim.ts'
export {
  createIdempotency,
  type Idempotency,
  type IdempotencyOptions,
  type IdempotencyVerdict,
  type IdempotentRequest,
} from './idempotency/idempotent.ts'
export type { AnswerHeaders, StoredAnswer } from './idempotency/stored-answer.ts'
export {
  createWorkerKeyring,
  type RequestContext,
  type WorkerKeyring,
  type WorkerKeyringOptions,
} from './keyring/worker-keyring.ts'
export type { LimitState } from './limits/answer.ts'
export {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type LimiterStats,
  type LimitRequirements,
} from './limits/limit.ts'
export type { PrepayOptions } from './limits/prepay.ts'
export type { LimitNumbers, LimitSource, LimitVerdict } from './limits/verdict.ts'
export type { HttpAnswer } from './protect/exchange.ts'
export type { Admission } from './protect/gate.ts'
export type {
  GateCode,
  GateOptions,
  GateVerdict,
  RefusalShape,
  RouteRequirements,
} from './protect/gate-options.ts'
export { createGate, type GateRequest, type RequestGate } from './protect/request-gate.ts'
export type { KeyrailErrorCode } from './runtime/error-codes.ts'
export {
  type FieldFault,
  KeyrailError,
  type KeyrailErrorFacts,
  PolicyScopeTooLargeError,
} from './runtime/errors.ts'
export { createKeyrail, createKeyring, createUsageReporter } from './runtime/not-in-workers.ts'
export type { Notice } from './runtime/reports.ts'
export type { RateLimit } from './store/rate-limits.ts'
export { type RefusalCode, type Refused, refusals, type Valid, type Verdict } from './verify/verdict.ts'
export type { Requirements } from './verify/verify.ts'
