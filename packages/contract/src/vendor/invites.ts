import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  Email,
  listOf,
  nullable,
  oneOf,
  paging,
  type ReadQuery,
  Role,
  resource,
  strictObject,
  Timestamp,
} from '../shared.ts'

export const InviteCreate = strictObject({ email: Email, role: Role })
export type InviteCreate = Static<typeof InviteCreate>

const fields = {
  email: Type.String(),
  role: Role,
  status: oneOf(['pending', 'accepted', 'revoked', 'expired']),
  created_by: nullable(
    strictObject(
      { type: oneOf(['user', 'secret_key']), id: Type.String() },
      {
        description:
          'The creator; the invitation ends when the creator loses access. Null: the creator is no longer known, and the invitation ends when any possible creator does.',
      },
    ),
  ),
  expires_at: Timestamp,
}
export const Invite = resource('invitation', fields)
export type Invite = Static<typeof Invite>
export const Invites = listOf(Invite)
export type Invites = Static<typeof Invites>
export const InviteList = Type.Object({ ...paging() })
export type InviteList = ReadQuery<typeof InviteList>

/** With the owner's copy of the token, `<workspace_id>.<secret>`. The mailed link has a different token. */
export const CreatedInvite = resource('invitation', {
  ...fields,
  token: Type.Optional(
    Type.String({
      description: 'The invitation token, only in this answer. A replayed answer does not have it.',
    }),
  ),
})
export type CreatedInvite = Static<typeof CreatedInvite>
