export { createEmbed, type Embed, type EmbedOptions, type EmbedTokenRequest } from './embed/client.ts'
export type { EmbedCustomer, FindCustomer, MakeEmbedHandler } from './embed/handler.ts'
export type { ConnectionOptions, ErrorOptions, OnUnavailable } from './http/connection-options.ts'
export type { HttpProblem } from './http/problem.ts'
export type { SecretKeySource } from './http/secret-key.ts'
export { fingerprintOf, type RequestParts } from './idempotency/fingerprint.ts'
export type { IdempotencyOf } from './idempotency/gate.ts'
export type { HeldClaim } from './idempotency/held-claim.ts'
export {
  createIdempotency,
  type Idempotency,
  type IdempotencyOptions,
  type IdempotencyVerdict,
  type IdempotentRequest,
} from './idempotency/idempotent.ts'
export type { IdempotencyCode } from './idempotency/problems.ts'
export type { AnswerHeaders, StoredAnswer } from './idempotency/stored-answer.ts'
export { createKeyrail, type Keyrail, type KeyrailHealth } from './keyrail/keyrail.ts'
export type { KeyrailOptions, PartOptions } from './keyrail/options.ts'
export type { ImportedCustomer, OnUnknownKey } from './keyring/imported-customer.ts'
export { createKeyring, type Keyring, type KeyringStats } from './keyring/keyring.ts'
export type { KeyringOptions } from './keyring/options.ts'
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
export type { KeyringOf, LimiterOf, UsageOf } from './protect/parts.ts'
export { createGate, type GateRequest, type RequestGate } from './protect/request-gate.ts'
export type { KeyrailErrorCode } from './runtime/error-codes.ts'
export {
  type FieldFault,
  KeyrailError,
  type KeyrailErrorFacts,
  PolicyScopeTooLargeError,
} from './runtime/errors.ts'
export type { OfWhole } from './runtime/part-of.ts'
export type { Notice } from './runtime/reports.ts'
export type { RateLimit } from './store/rate-limits.ts'
export {
  createUsageReporter,
  type UsageCloseOptions,
  type UsageReporter,
  type UsageReporterStats,
} from './usage/reporter.ts'
export type { UsageReporterOptions } from './usage/reporter-options.ts'
export type { ShadowStats } from './verify/shadow.ts'
export { type RefusalCode, type Refused, refusals, type Valid, type Verdict } from './verify/verdict.ts'
export type { Requirements } from './verify/verify.ts'
