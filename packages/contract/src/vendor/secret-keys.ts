import type { Static } from 'typebox'
import { networksOf } from '../networks.ts'
import { Type } from '../schema.ts'
import {
  BooleanText,
  Env,
  listOf,
  Meta,
  Name,
  nullable,
  oneOf,
  Predecessor,
  paging,
  type ReadQuery,
  RevokeBody,
  resource,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'
import { Permission, Permissions, Preset, projectsMax } from './permissions.ts'

export const SecretKeyRole = oneOf(['owner', 'admin'])
export type SecretKeyRole = Static<typeof SecretKeyRole>

export const SecretKeyCreate = strictObject({
  env: Env,
  name: Type.Optional(Name),
  meta: Type.Optional(Meta),
  expires_at: Type.Optional(Timestamp),
  permissions: Type.Optional(Permissions),
  preset: Type.Optional(Preset),
  project_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: projectsMax, 'x-unique': true })),
  allowed_cidrs: Type.Optional(networksOf({ minItems: 1 })),
})
export type SecretKeyCreate = Static<typeof SecretKeyCreate>

export const SecretKeyUpdate = strictObject(
  { name: Type.Optional(nullable(Name)), meta: Type.Optional(Meta) },
  { description: 'What people read. What the key may do never changes: create another one for that.' },
)
export type SecretKeyUpdate = Static<typeof SecretKeyUpdate>

export const SecretKeyRevoke = strictObject({
  ...RevokeBody.properties,
  cascade: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Also revokes the secret keys made with this one, the keys made with those, and so on.',
    }),
  ),
})
export type SecretKeyRevoke = Static<typeof SecretKeyRevoke>

export const SecretKeyList = Type.Object({
  env: Type.Optional(Env),
  include_revoked: Type.Optional(BooleanText),
  /** A person or a secret key: only keys that it made, the keys made with those, and so on. */
  made_by: Type.Optional(Uuid),
  ...paging(),
})
export type SecretKeyList = ReadQuery<typeof SecretKeyList>

const fields = {
  env: Env,
  role: SecretKeyRole,
  created_by: strictObject({
    type: oneOf(['user', 'secret_key', 'bootstrap', 'operator']),
    id: nullable(Type.String()),
  }),
  name: nullable(StoredName),
  meta: Meta,
  display_prefix: Type.String(),
  expires_at: nullable(Timestamp),
  permissions: nullable(Type.Array(Permission, { description: 'Null: everything that its role allows.' })),
  project_ids: nullable(Type.Array(Uuid, { description: 'Null: the whole workspace.' })),
  allowed_cidrs: nullable(
    Type.Array(Type.String(), { description: 'The only addresses that it works from. Null: any address.' }),
  ),
  revoked_at: nullable(Timestamp),
  revoked_reason: nullable(Type.String()),
  rotated_from: nullable(Uuid),
  rotated_to: nullable(Uuid),
  last_used_at: nullable(Timestamp),
}
export const SecretKey = resource('secret_key', fields)
export type SecretKey = Static<typeof SecretKey>
export const SecretKeys = listOf(SecretKey)
export type SecretKeys = Static<typeof SecretKeys>

const ShownOnce = Type.Optional(
  Type.String({
    description:
      'The secret key itself, only in this answer. A replayed answer does not have it: rotate the secret key then.',
  }),
)
export const CreatedSecretKey = resource('secret_key', { ...fields, key: ShownOnce })
export type CreatedSecretKey = Static<typeof CreatedSecretKey>
export const RotatedSecretKey = resource('secret_key', {
  ...fields,
  key: ShownOnce,
  predecessor: Predecessor,
})
export type RotatedSecretKey = Static<typeof RotatedSecretKey>

/** Secret keys that a maker has made, they have made, and so on. */
export const Descendants = strictObject({
  count: Type.Integer({ minimum: 0, description: 'How many there are; `data` has the newest 200.' }),
  data: Type.Array(SecretKey, { maxItems: 200 }),
  next_cursor: nullable(
    Type.String({
      description:
        'Where `GET /v1/secret_keys` goes on, with `made_by`, and with `include_revoked=true` if they were revoked.',
    }),
  ),
})
export type Descendants = Static<typeof Descendants>

/** How many of a maker's descendants have ended with it. */
export const Cascade = strictObject({
  state: oneOf(['running', 'done']),
  revoked: Type.Integer({ minimum: 0, description: 'How many secret keys it has revoked.' }),
  remaining: Type.Integer({ minimum: 0, description: 'How many secret keys it is still to revoke.' }),
})
export type Cascade = Static<typeof Cascade>

/** With `cascade` while what the key has made is still being ended. */
export const ReadSecretKey = resource('secret_key', { ...fields, cascade: Type.Optional(Cascade) })
export type ReadSecretKey = Static<typeof ReadSecretKey>

export const RevokedSecretKey = resource('secret_key', {
  ...fields,
  /** Newest first: those that `cascade` revokes, or else those that still work. */
  descendants: Descendants,
  cascade: Cascade,
})
export type RevokedSecretKey = Static<typeof RevokedSecretKey>
