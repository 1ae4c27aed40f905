import Type, { type Static } from 'typebox'
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
  resource,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'

export const SecretKeyRole = oneOf(['owner', 'admin'])
export type SecretKeyRole = Static<typeof SecretKeyRole>

export const SecretKeyCreate = strictObject({
  env: Env,
  name: Type.Optional(Name),
  meta: Type.Optional(Meta),
  expires_at: Type.Optional(Timestamp),
})
export type SecretKeyCreate = Static<typeof SecretKeyCreate>

export const SecretKeyList = Type.Object({
  env: Type.Optional(Env),
  include_revoked: Type.Optional(BooleanText),
  ...paging(),
})

const fields = {
  env: Env,
  role: SecretKeyRole,
  created_by: strictObject({
    type: oneOf(['user', 'secret_key', 'bootstrap', 'operator']),
    id: nullable(Type.String()),
  }),
  name: nullable(Name),
  meta: Meta,
  display_prefix: Type.String(),
  expires_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  revoked_reason: nullable(Type.String()),
  rotated_from: nullable(Uuid),
  rotated_to: nullable(Uuid),
  last_used_at: nullable(Timestamp),
}
export const SecretKey = resource('secret_key', fields)
export type SecretKey = Static<typeof SecretKey>
export const SecretKeys = listOf(SecretKey)

const ShownOnce = Type.Optional(
  Type.String({ description: 'The secret key itself, in this answer only and in none that is replayed.' }),
)
export const CreatedSecretKey = resource('secret_key', { ...fields, key: ShownOnce })
export type CreatedSecretKey = Static<typeof CreatedSecretKey>
export const RotatedSecretKey = resource('secret_key', {
  ...fields,
  key: ShownOnce,
  predecessor: Predecessor,
})
