import Type, { type Static } from 'typebox'
import { Email, listOf, nullable, oneOf, paging, Role, resource, strictObject, Timestamp } from '../shared.ts'

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
          'It ends with whoever has made it; null where that is not known any more, and then it ends with whoever ends first.',
      },
    ),
  ),
  expires_at: Timestamp,
}
export const Invite = resource('invitation', fields)
export type Invite = Static<typeof Invite>
export const Invites = listOf(Invite)
export const InviteList = Type.Object({ ...paging() })

/** With the owner's own copy of the token, `<workspace_id>.<secret>`: the mailed link has another. */
export const CreatedInvite = resource('invitation', {
  ...fields,
  token: Type.Optional(
    Type.String({ description: 'The invitation token, in this answer only and in none that is replayed.' }),
  ),
})
export type CreatedInvite = Static<typeof CreatedInvite>
