import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  BooleanText,
  deleted,
  listOf,
  nullable,
  paging,
  type ReadQuery,
  Role,
  resource,
  Slug,
  StoredName,
  strictObject,
  Timestamp,
  Uuid,
} from '../shared.ts'
import { Cascade, Descendants } from './secret-keys.ts'

const fields = {
  user_id: Uuid,
  email: Type.String(),
  name: nullable(StoredName),
  role: Role,
  joined_at: Timestamp,
}

/** A person in a workspace. `id` is the id of the person. */
export const Member = resource('member', fields)
export type Member = Static<typeof Member>
export const Members = listOf(Member)
export type Members = Static<typeof Members>
export const MemberList = Type.Object({ ...paging() })
export type MemberList = ReadQuery<typeof MemberList>

export const MemberUpdate = strictObject({
  role: Role,
  revoke_keys: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Also revokes the secret keys made by this person, the keys made with those, and so on.',
    }),
  ),
})
export type MemberUpdate = Static<typeof MemberUpdate>

export const MemberRemoval = Type.Object({
  revoke_keys: Type.Optional(BooleanText),
})
export type MemberRemoval = Static<typeof MemberRemoval>

/** Newest first: those that `revoke_keys` revokes, or else those that work. */
const made = { secret_keys: Descendants, cascade: Cascade }
export const ChangedMember = resource('member', { ...fields, ...made })
export type ChangedMember = Static<typeof ChangedMember>
export const RemovedMember = deleted('member', made)
export type RemovedMember = Static<typeof RemovedMember>

/** A new member, and the workspace. */
export const JoinedMember = resource('member', {
  ...fields,
  workspace: strictObject({ id: Uuid, name: StoredName, slug: Slug }),
})
export type JoinedMember = Static<typeof JoinedMember>
