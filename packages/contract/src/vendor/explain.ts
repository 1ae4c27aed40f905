import type { Static } from 'typebox'
import { LimitState } from '../ratelimit.ts'
import { Type } from '../schema.ts'
import { nullable, oneOf, Scopes, StoredName, strictObject, Timestamp, Uuid } from '../shared.ts'
import { serviceVerdicts } from '../verdicts.ts'
import { Key } from './keys.ts'

/** Why your servers accept or refuse a key, from the facts of the service. */

const RequestScopes = {
  ...Scopes,
  description: 'Scopes that the request needs, compared exactly.',
} as typeof Scopes
const RequestAddress = Type.String({
  minLength: 2,
  maxLength: 64,
  description:
    'The address that the request comes from, IPv4 or IPv6, without a port or brackets. Without it, a key with `allowed_cidrs` is refused.',
  examples: ['203.0.113.7'],
})
const At = {
  ...Timestamp,
  description:
    'Judges the key as of this time, by the times that stand in it now: creation, revocation, pause, suspension and expiry. A pause that has ended, or that yours took the place of, and earlier scopes and networks, are in the audit log; limits are left out. Default: now.',
} as typeof Timestamp

/** A request to explain. */
const asked = {
  ip: Type.Optional(RequestAddress),
  scopes: Type.Optional(RequestScopes),
  at: Type.Optional(At),
}
/** Strict, since a misspelt parameter would be a question that nobody answers: the key would seem to be accepted. */
export const KeyExplainQuery = strictObject({
  ...asked,
  scopes: Type.Optional({
    ...RequestScopes,
    description:
      'Scopes that the request needs, with commas between them. `POST /v1/keys/explain` takes scopes that have commas.',
  } as typeof Scopes),
})
export type KeyExplainQuery = Static<typeof KeyExplainQuery>

export const KeyExplain = strictObject({
  key: Type.String({
    minLength: 1,
    maxLength: 16_384,
    description: 'What the customer sends. It is not stored or logged.',
  }),
  ...asked,
})
export type KeyExplain = Static<typeof KeyExplain>

/** Every reason for a refusal that the service can see, in the order of judging. */
export const explainedRefusals = serviceVerdicts.filter(code => code !== 'valid' && code !== 'missing_key')
export type ExplainedRefusal = Exclude<(typeof serviceVerdicts)[number], 'valid' | 'missing_key'>

const Reason = strictObject({
  code: oneOf(explainedRefusals as readonly ExplainedRefusal[]),
  applies: Type.Boolean({ description: 'Whether the request would be refused for this.' }),
  detail: Type.String({ description: 'The facts, in a sentence for people.' }),
})
export type Reason = Static<typeof Reason>

const NodesOfKey = strictObject({
  live: Type.Integer({ description: 'Nodes of the environment that were seen within 90 s.' }),
  current: Type.Integer({ description: 'How many of them hold the last change of the key.' }),
  behind: Type.Array(
    strictObject({
      node: Type.String(),
      version: Type.Integer({ description: 'The version that it holds. 0: it fetches its first snapshot.' }),
      seen_at: Timestamp,
    }),
    { maxItems: 50, description: 'The others, the furthest behind first, at most 50.' },
  ),
  full: Type.Integer({
    description: 'How many of them hold as many keys as they may, and so can lack this one.',
  }),
  version: Type.Integer({
    description:
      'The version of the project that a node needs to have every change of the key: its own, those of its tenant, and those of all keys of the project.',
  }),
})
export type NodesOfKey = Static<typeof NodesOfKey>

export const KeyExplanation = strictObject({
  object: Type.Literal('key_explanation'),
  accepted: Type.Boolean({ description: 'Whether a request with the key passes.' }),
  code: oneOf([...serviceVerdicts], {
    description: 'The verdict: the first reason that applies, or `valid`.',
  }),
  at: { ...Timestamp, description: 'The time that the key was judged for.' } as typeof Timestamp,
  key: { ...nullable(Key), description: 'Null: the text is no key, or no key that you can see.' },
  tenant: {
    ...nullable(strictObject({ id: Uuid, external_id: Type.String(), name: nullable(StoredName) })),
    description: 'Null without a key, and without the permission `tenants:read`.',
  },
  project: {
    ...nullable(strictObject({ id: Uuid, name: StoredName })),
    description: 'Null without a key, and without the permission `projects:read`.',
  },
  reasons: Type.Array(Reason, {
    description: 'Every reason for a refusal in the order of judging, whether it applies or not.',
  }),
  limits: {
    ...nullable(Type.Array(LimitState)),
    description:
      'What is left of the limits of the key now. Nothing is charged. Null: the counters could not be read. Empty: the key has no limits, or `at` is named.',
  },
  nodes: {
    ...nullable(NodesOfKey),
    description:
      'The servers that hold the key. Null without a key, without the permission `projects:read`, and for a test credential, since it would reveal changes of live keys.',
  },
})
export type KeyExplanation = Static<typeof KeyExplanation>
