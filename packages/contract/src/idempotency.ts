import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { Env, ListedError, nullable, strictObject, Timestamp } from './shared.ts'

/**
 * The four idempotency calls that a vendor's servers make around a tenant's request that must not run
 * twice. Spec, "Idempotency". The result of a call is its `verdict`; the status is 200 for every verdict.
 */

/** SHA-256 in hexadecimal digits of either case. */
const Sha256Hex = Type.String({
  pattern: '^[0-9A-Fa-f]{64}$',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
})
const LockToken = Type.String({ minLength: 8, maxLength: 64 })
const TtlMs = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 60_000, maximum: 604_800_000, description }))

/** The record, and proof that the caller holds it: fields of complete, release and heartbeat. */
const held = { scope_hash: Sha256Hex, env: Env, lock_token: LockToken }

export const ClaimBody = strictObject({
  scope_hash: Sha256Hex,
  fingerprint: {
    ...Sha256Hex,
    description:
      'Hash of method, path, sorted query and body. A different one under the same scope is a mismatch.',
  } as typeof Sha256Hex,
  env: Env,
  ttl_ms: TtlMs('How long the record is kept. Default: 24 hours.'),
})
export type ClaimBody = Static<typeof ClaimBody>

export const CompleteBody = strictObject({
  ...held,
  status: Type.Integer({ minimum: 100, maximum: 599 }),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      propertyNames: { maxLength: 128 },
      additionalProperties: { type: 'string', maxLength: 4_096 },
      default: {},
    }),
  ),
  body: Type.Optional({
    ...nullable(Type.String({ maxLength: 6_291_456, contentEncoding: 'base64' })),
    default: null,
    description: 'Padded base64. Null: the answer was too large to keep, and is not replayed.',
  }),
  ttl_ms: TtlMs('How long the answer is kept from now on. Default: the `ttl_ms` of the claim.'),
})
export type CompleteBody = Static<typeof CompleteBody>

export const ReleaseBody = strictObject(held)
export const HeartbeatBody = strictObject(held)
export type HeldBody = Static<typeof ReleaseBody>

const verdict = <O extends string, V extends string>(object: O, name: V) => ({
  object: Type.Literal(object),
  verdict: Type.Literal(name),
})

/** The answer of the executed request, as `complete` stored it. */
const StoredResponse = strictObject({
  status: Type.Integer({ minimum: 100, maximum: 599 }),
  headers: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
  }),
  body: Type.String({ contentEncoding: 'base64' }),
})

export const ClaimVerdict = Type.Union([
  strictObject({
    ...verdict('idempotency_claim', 'execute'),
    lock_token: LockToken,
    lock_expires_at: Timestamp,
  }),
  strictObject({
    ...verdict('idempotency_claim', 'in_progress'),
    retry_after_ms: Type.Integer({
      minimum: 1,
      description: 'Time until the lock ends, unless it is extended.',
    }),
  }),
  strictObject({ ...verdict('idempotency_claim', 'replay'), response: StoredResponse }),
  strictObject(verdict('idempotency_claim', 'mismatch')),
  strictObject({
    ...verdict('idempotency_claim', 'not_replayable'),
    status: Type.Integer({ minimum: 100, maximum: 599 }),
  }),
])
export type ClaimVerdict = Static<typeof ClaimVerdict>

export const CompleteVerdict = Type.Union([
  strictObject(verdict('idempotency_complete', 'completed')),
  strictObject(verdict('idempotency_complete', 'lost')),
])
export type CompleteVerdict = Static<typeof CompleteVerdict>

export const ReleaseVerdict = Type.Union([
  strictObject(verdict('idempotency_release', 'released')),
  strictObject(verdict('idempotency_release', 'lost')),
])
export type ReleaseVerdict = Static<typeof ReleaseVerdict>

export const HeartbeatVerdict = Type.Union([
  strictObject({ ...verdict('idempotency_heartbeat', 'extended'), lock_expires_at: Timestamp }),
  strictObject(verdict('idempotency_heartbeat', 'lost')),
])
export type HeartbeatVerdict = Static<typeof HeartbeatVerdict>

/** The calls of a list. Beyond, send another list. */
export const idempotencyCallsMax = 100

/**
 * Claims and ends of several requests at once. Each is one member, `claim`, `complete`, `release` or `heartbeat`, with the body
 * of the call of that name, and is answered by itself: one that is invalid costs itself alone.
 */
export const IdempotencyCalls = strictObject({
  calls: Type.Array(
    Type.Unsafe<unknown>({
      description: 'One of `claim`, `complete`, `release` and `heartbeat`, with the body of that call.',
      examples: [{ release: { scope_hash: '…', env: 'live', lock_token: '…' } }],
    }),
    { minItems: 1, maxItems: idempotencyCallsMax },
  ),
})
export type IdempotencyCalls = Static<typeof IdempotencyCalls>

/** In a list in place of a stored answer of more than 64 KiB: claim this request by itself, and the answer comes. */
const ReplayAlone = strictObject(verdict('idempotency_claim', 'replay_alone'))
export type ListedClaimVerdict = ClaimVerdict | Static<typeof ReplayAlone>

export const IdempotencyVerdicts = strictObject({
  object: Type.Literal('idempotency_calls'),
  calls: Type.Array(
    Type.Union([ClaimVerdict, ReplayAlone, CompleteVerdict, ReleaseVerdict, HeartbeatVerdict, ListedError]),
    { description: 'In the order of the request.' },
  ),
})
export type IdempotencyVerdicts = Static<typeof IdempotencyVerdicts>
