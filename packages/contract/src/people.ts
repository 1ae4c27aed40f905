import type { Static } from 'typebox'
import { Type } from './schema.ts'
import {
  Email,
  listOf,
  Name,
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
} from './shared.ts'

/** Shapes of the person plane: accounts, sessions and mailed links. */

/** In Unicode code points. The minimum is a setting of the service, `SERVICE_PASSWORD_MIN_LENGTH`. */
const passwordMaxLength = 256
const Password = Type.String({ minLength: 1, maxLength: passwordMaxLength })
const NewPassword = Type.String({
  minLength: 8,
  maxLength: passwordMaxLength,
  description:
    'At least `SERVICE_PASSWORD_MIN_LENGTH` characters (12 by default). Used unchanged. Rejected if it is a common password or the address itself.',
})
const MailedToken = Type.String({ minLength: 1, maxLength: 500 })

export const SignUp = strictObject({ email: Email, password: NewPassword, name: Type.Optional(Name) })
export type SignUp = Static<typeof SignUp>

/** The same bytes whether or not the address has an account. */
export const Accepted = strictObject({ status: Type.Literal('accepted') })
export type Accepted = Static<typeof Accepted>

export const SignIn = strictObject({
  email: Email,
  password: Password,
  workspace_id: Type.Optional(Uuid),
  device_token: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'The `device_token` of an earlier sign-in to this account from the same device.',
    }),
  ),
})
export type SignIn = Static<typeof SignIn>

const userFields = {
  email: Type.String(),
  email_verified: Type.Boolean(),
  name: nullable(StoredName),
}
export const User = resource('user', userFields)
export type User = Static<typeof User>

/** A workspace of which a person is a member, and the role. */
export const Membership = strictObject({
  id: Uuid,
  name: StoredName,
  slug: Slug,
  role: Role,
  unproven: Type.Boolean({
    description:
      'Whether the account joined it before its password and its mailbox were shown to belong together. No person acts there by themselves until the person has decided to keep it.',
  }),
})
export type Membership = Static<typeof Membership>
const Memberships = Type.Array(Membership)

/** The signed-in person, and the workspace that the session acts in. */
export const Me = resource('user', {
  ...userFields,
  workspace_id: nullable(Uuid),
  role: nullable(Role),
  workspaces: Memberships,
})
export type Me = Static<typeof Me>

export const MeUpdate = strictObject({ name: Type.Optional(nullable(Name)) })
export type MeUpdate = Static<typeof MeUpdate>

const sessionFields = {
  current: Type.Boolean(),
  workspace_id: nullable(Uuid),
  user_agent: nullable(Type.String()),
  ip: nullable(Type.String()),
  last_seen_at: Timestamp,
  expires_at: Timestamp,
}
export const Session = resource('session', sessionFields)
export type Session = Static<typeof Session>
export const Sessions = listOf(Session)
export type Sessions = Static<typeof Sessions>
export const SessionList = Type.Object({ ...paging() })
export type SessionList = ReadQuery<typeof SessionList>

export const OtherSessionsEnded = strictObject({
  status: Type.Literal('other_sessions_ended'),
  ended: Type.Integer({ minimum: 0, description: 'How many sessions have ended.' }),
})
export type OtherSessionsEnded = Static<typeof OtherSessionsEnded>

/** The only answer with the token. */
export const SignedIn = resource('session', {
  ...sessionFields,
  token: Type.String({ description: 'The bearer token of the session, `krses_…`, only in this answer.' }),
  device_token: Type.String({
    description:
      'Names this device at its next sign-in to the account, for 90 days or until the password changes. An account has ten; the next sign-in of another device ends the oldest. Failures of others in its network then do not delay it. It grants nothing else.',
  }),
  user: User,
  workspaces: Memberships,
})
export type SignedIn = Static<typeof SignedIn>

export const PasswordChange = strictObject({ current_password: Password, password: NewPassword })
export type PasswordChange = Static<typeof PasswordChange>

export const WorkspaceSwitch = strictObject({ workspace_id: Uuid })
export type WorkspaceSwitch = Static<typeof WorkspaceSwitch>

export const VerificationConsume = strictObject({ token: MailedToken })
export type VerificationConsume = Static<typeof VerificationConsume>
/** What an account made before its address was verified: somebody else may have signed up with the address. */
const MadeBefore = strictObject({
  workspaces: Type.Array(
    strictObject({ id: Uuid, slug: Slug, role: Role, created_at: Timestamp, secret_keys: Type.Integer() }),
  ),
  sign_ins: Type.Array(
    strictObject({
      ip: nullable(Type.String()),
      user_agent: nullable(Type.String()),
      created_at: Timestamp,
    }),
  ),
})
export const Verified = strictObject({
  status: Type.Literal('verified'),
  made: nullable(MadeBefore),
  disowning_token: nullable(
    Type.String({
      description:
        'For 24 hours, a reset of the password with this token ends all that the account made. Null when the account made nothing.',
    }),
  ),
})
export type Verified = Static<typeof Verified>

export const ResetRequest = strictObject({ email: Email })
export type ResetRequest = Static<typeof ResetRequest>
export const ResetConsume = strictObject({ token: MailedToken, password: NewPassword })
export type ResetConsume = Static<typeof ResetConsume>
export const PasswordChanged = strictObject({
  status: Type.Literal('password_changed'),
  made_ended: Type.Boolean({
    description:
      'Whether all ended that the account had made, because no person had shown that it is theirs.',
  }),
})
export type PasswordChanged = Static<typeof PasswordChanged>

/** A workspace without members, named by one of its secret keys. */
export const WorkspaceAdoption = strictObject({
  secret_key: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'An active live secret key of the workspace, with the role `owner` and without limits.',
  }),
})
export type WorkspaceAdoption = Static<typeof WorkspaceAdoption>

export const InviteAccept = strictObject({ token: MailedToken })
export type InviteAccept = Static<typeof InviteAccept>

export const InviteIdentify = strictObject({ token: MailedToken })
export type InviteIdentify = Static<typeof InviteIdentify>
/** What the letter of an invitation says. A name is null where the letter leaves it out. */
export const IdentifiedInvite = strictObject({
  email: Type.String({ description: 'The invited address.' }),
  role: Role,
  workspace_name: nullable(StoredName),
  invited_by: nullable(
    strictObject(
      { email: Type.String(), name: nullable(StoredName) },
      { description: 'The person who made the invitation. Null: it was made with a secret key.' },
    ),
  ),
  expires_at: Timestamp,
})
export type IdentifiedInvite = Static<typeof IdentifiedInvite>
