import Type, { type Static } from 'typebox'
import { Env, nullable, oneOf, RateLimits, strictObject, Uuid } from './shared.ts'

/**
 * The rate-limit check, asked once per request of a vendor's customers. Spec, "Rate-limit check". The ids name counters
 * of the caller's own workspace and nothing else; the limits come with the question.
 */
export const RateLimitCheck = strictObject({
  project_id: Uuid,
  env: Env,
  key_id: Type.Optional({ ...nullable(Uuid), default: null }),
  tenant_id: Type.Optional({ ...nullable(Uuid), default: null }),
  cost: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      default: 1,
      description: 'What the request takes of every limit; 0 looks without taking.',
    }),
  ),
  limits: { ...RateLimits, minItems: 1 } as typeof RateLimits,
})
export type RateLimitCheck = Static<typeof RateLimitCheck>

const Milliseconds = Type.Integer({ minimum: 0 })

const LimitState = strictObject({
  id: Type.String(),
  limit: Type.Integer(),
  window_ms: Type.Integer(),
  algorithm: oneOf(['sliding', 'fixed']),
  scope: oneOf(['key', 'tenant']),
  allowed: Type.Boolean({ description: 'Whether this limit alone would let the request pass.' }),
  remaining: Type.Integer({ minimum: 0, description: 'What is left of it, after this request.' }),
  reset_ms: { ...Milliseconds, description: 'Until its current window ends.' },
})

/** A structured-field List (RFC 9651), as draft-ietf-httpapi-ratelimit-headers has it. */
const HeaderText = Type.String({ examples: ['"burst";q=100;w=60'] })

export const RateLimitVerdict = strictObject({
  object: Type.Literal('ratelimit_check'),
  allowed: Type.Boolean({ description: 'All limits are charged, or none.' }),
  cost: Type.Integer(),
  denied_by: Type.Array(Type.String(), { description: 'Ids of the limits that stand in the way.' }),
  retry_after_ms: {
    ...nullable(Milliseconds),
    description:
      'Until it would pass, if nothing else is spent; null when it is allowed, or never will pass.',
  },
  limits: Type.Array(LimitState, { description: 'In the order of the request.' }),
  headers: strictObject({
    'RateLimit-Policy': HeaderText,
    RateLimit: { ...HeaderText, examples: ['"burst";r=50;t=30'] },
    'Retry-After': Type.Optional(Type.String({ description: 'Whole seconds, at least 1.' })),
  }),
})
export type RateLimitVerdict = Static<typeof RateLimitVerdict>
