import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { Env, ListedError, nullable, oneOf, RateLimits, strictObject, Uuid } from './shared.ts'

/** How much a request takes from every limit. */
export const Cost = Type.Integer({
  minimum: 0,
  maximum: 1_000,
  default: 1,
  description: 'How much the request takes from every limit. 0 checks without taking.',
})

/**
 * The rate-limit check, called once per request of a tenant. Spec, "Rate-limit check". The ids name counters of the
 * caller's workspace only; the request carries the limits.
 */
export const RateLimitCheck = strictObject({
  project_id: Uuid,
  env: Env,
  key_id: Type.Optional({ ...nullable(Uuid), default: null }),
  tenant_id: Type.Optional({ ...nullable(Uuid), default: null }),
  cost: Type.Optional(Cost),
  limits: { ...RateLimits, minItems: 1 } as typeof RateLimits,
})
export type RateLimitCheck = Static<typeof RateLimitCheck>

const Milliseconds = Type.Integer({ minimum: 0 })

export const LimitState = strictObject({
  id: Type.String(),
  limit: Type.Integer(),
  window_ms: Type.Integer(),
  algorithm: oneOf(['sliding', 'fixed']),
  scope: oneOf(['key', 'tenant']),
  allowed: Type.Boolean({ description: 'Whether the request fits this limit.' }),
  remaining: Type.Integer({ minimum: 0, description: 'How much of the limit is left after this request.' }),
  reset_ms: { ...Milliseconds, description: 'Time until the current window ends.' },
})

/** A structured-field List (RFC 9651), by draft-ietf-httpapi-ratelimit-headers. */
const HeaderText = Type.String({ examples: ['"burst";q=100;w=60'] })

/** The headers of a verdict, which a vendor's server may send on. */
export const rateLimitHeaders = {
  'RateLimit-Policy': HeaderText,
  RateLimit: { ...HeaderText, examples: ['"burst";r=50;t=30'] },
  'Retry-After': Type.Optional(Type.String({ description: 'Whole seconds, at least 1.' })),
}

export const RateLimitVerdict = strictObject({
  object: Type.Literal('ratelimit_check'),
  allowed: Type.Boolean({ description: 'True: every limit was charged. False: none was.' }),
  cost: Type.Integer(),
  denied_by: Type.Array(Type.String(), { description: 'Ids of the limits that the request does not fit.' }),
  retry_after_ms: {
    ...nullable(Milliseconds),
    description:
      'Time until the request would fit, if nothing else is spent. Null if it is allowed, or never fits.',
  },
  limits: Type.Array(LimitState, { description: 'In the order of the request.' }),
  nodes: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'How many nodes have checked limits of the project and environment within 90 s, at least: nodes may ask other processes of the service. Only for a request that names its node in the header `Keyrail-Node`.',
    }),
  ),
  headers: strictObject(rateLimitHeaders),
})
export type RateLimitVerdict = Static<typeof RateLimitVerdict>

/** The checks of a list. Beyond, send another list. */
export const checksMax = 100

/**
 * Checks of several requests at once. Each is judged and charged by itself, in the order of the list: one that is invalid, or
 * names a project that the caller cannot see, costs itself alone.
 */
export const RateLimitChecks = strictObject({
  checks: Type.Array(
    Type.Unsafe<unknown>({ description: 'A check, with the fields of `POST /v1/ratelimit/check`.' }),
    { minItems: 1, maxItems: checksMax },
  ),
})
export type RateLimitChecks = Static<typeof RateLimitChecks>

export const RateLimitVerdicts = strictObject({
  object: Type.Literal('ratelimit_checks'),
  checks: Type.Array(Type.Union([RateLimitVerdict, ListedError]), {
    description:
      'In the order of the request: a verdict each, or the error that the check alone would have been answered.',
  }),
})
export type RateLimitVerdicts = Static<typeof RateLimitVerdicts>
