import Type, { type Static } from 'typebox'
import {
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

export const MemberUpdate = strictObject({ role: Role })
export type MemberUpdate = Static<typeof MemberUpdate>

const KeysLeft = Type.Array(SecretKey, {
  description: 'Secret keys that this person has made and that still work: revoke what should not.',
})
export const ChangedMember = resource('member', { ...fields, secret_keys: KeysLeft })
export const RemovedMember = deleted('member', { secret_keys: KeysLeft })

/** A member, and the workspace that was joined. */
export const JoinedMember = resource('member', {
  ...fields,
  workspace: strictObject({ id: Uuid, name: Name, slug: Slug }),
})
export type JoinedMember = Static<typeof JoinedMember>
