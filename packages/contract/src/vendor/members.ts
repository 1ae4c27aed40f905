import Type, { type Static } from 'typebox'
import {
  BooleanText,
  deleted,
  listOf,
  Name,
  nullable,
  paging,
  Role,
  resource,
  Slug,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'
import { SecretKey } from './secret-keys.ts'

const fields = {
  user_id: Uuid,
  email: Type.String(),
  name: nullable(Name),
  role: Role,
  joined_at: Timestamp,
}

/** A person in a workspace; its `id` is the person's. */
export const Member = resource('member', fields)
export type Member = Static<typeof Member>
export const Members = listOf(Member)
export const MemberList = Type.Object({ ...paging() })

export const MemberUpdate = strictObject({
  role: Role,
  revoke_keys: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Revokes the secret keys made by this person too, and those made by these, all the way down.',
    }),
  ),
})
export type MemberUpdate = Static<typeof MemberUpdate>

export const MemberRemoval = Type.Object({
  revoke_keys: Type.Optional(BooleanText),
})

const KeysMade = Type.Array(SecretKey, {
  description:
    'Secret keys made by this person or with their keys, newest first: those that `revoke_keys` revoked, or those that still work.',
})
export const ChangedMember = resource('member', { ...fields, secret_keys: KeysMade })
export const RemovedMember = deleted('member', { secret_keys: KeysMade })

/** A member, and the workspace that was joined. */
export const JoinedMember = resource('member', {
  ...fields,
  workspace: strictObject({ id: Uuid, name: Name, slug: Slug }),
})
export type JoinedMember = Static<typeof JoinedMember>
