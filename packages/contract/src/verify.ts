import type { Static } from 'typebox'
import { Cost, LimitState, rateLimitHeaders } from './ratelimit.ts'
import { Type } from './schema.ts'
import { Env, Meta, nullable, oneOf, Scopes, StoredName, strictObject, Timestamp, Uuid } from './shared.ts'
import { serviceVerdicts } from './verdicts.ts'

/** The verdict on a key that a customer has sent, for servers without the SDK. `verdicts.ts` has the codes. */

/** Longer than any header that servers take. What a customer sends in a header has a verdict, not an error. */
const presentedMax = 16_384

export const KeyVerify = strictObject({
  key: Type.String({
    maxLength: presentedMax,
    description:
      'What the customer sent. Where keys were imported, that may be any text of 1 to 512 visible ASCII characters. It is not stored or logged. Any text without NUL and unpaired surrogates has a verdict.',
  }),
  project_id: Uuid,
  scopes: Type.Optional({
    ...Scopes,
    description: 'Scopes that the key must have, compared exactly.',
  } as typeof Scopes),
  ip: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 64,
      description:
        'The address that the request of the customer comes from, IPv4 or IPv6. A key with `allowed_cidrs` needs it.',
      examples: ['203.0.113.7'],
    }),
  ),
  cost: Type.Optional(Cost),
})
export type KeyVerify = Static<typeof KeyVerify>

const VerifiedKey = strictObject({
  id: Uuid,
  tenant_id: Uuid,
  external_id: Type.String({ description: 'The own id that you gave the tenant.' }),
  env: Env,
  scopes: Scopes,
  meta: { ...nullable(Meta), description: 'Null if it is longer than 2,048 bytes.' },
  expires_at: nullable(Timestamp),
  name: Type.Optional({
    ...nullable(StoredName),
    description: 'With the permission `policy:labels`, or without a list of permissions.',
  }),
})

export const KeyVerdict = strictObject({
  object: Type.Literal('key_verdict'),
  valid: Type.Boolean({ description: 'Whether the request may pass.' }),
  code: oneOf([...serviceVerdicts], {
    description: 'Why not. If several reasons apply, the first of this list.',
  }),
  key: { ...nullable(VerifiedKey), description: 'Null unless `code` is `valid` or `rate_limited`.' },
  limits: Type.Array(LimitState, {
    description: 'The limits of the key after this request. Empty where none were checked.',
  }),
  headers: strictObject(
    {
      'RateLimit-Policy': Type.Optional(rateLimitHeaders['RateLimit-Policy']),
      RateLimit: Type.Optional(rateLimitHeaders.RateLimit),
      'Retry-After': rateLimitHeaders['Retry-After'],
    },
    { description: 'Headers for your answer. Empty where no limits were checked.' },
  ),
})
export type KeyVerdict = Static<typeof KeyVerdict>
