import type {
  Accepted,
  IdentifiedInvite,
  InviteAccept,
  InviteIdentify,
  Me,
  Membership,
  MeUpdate,
  OtherSessionsEnded,
  PasswordChange,
  PasswordChanged,
  ResetConsume,
  ResetRequest,
  Session,
  SessionList,
  Sessions,
  SignedIn,
  SignIn,
  SignUp,
  User,
  VerificationConsume,
  Verified,
  WorkspaceAdoption,
  WorkspaceSwitch,
} from '@keyrail/contract/people'
import type { JoinedMember, RemovedMember } from '@keyrail/contract/vendor/members'
import { endpoint } from './endpoint.ts'

export const signUp = endpoint<{ body: SignUp; answer: Accepted }>('POST', '/v1/auth/users', 'open')
export const signIn = endpoint<{ body: SignIn; answer: SignedIn }>('POST', '/v1/auth/sessions', 'open')
export const getMe = endpoint<{ answer: Me }>('GET', '/v1/auth/me')
export const updateMe = endpoint<{ body: MeUpdate; answer: User }>('PATCH', '/v1/auth/me')
export const changePassword = endpoint<{ body: PasswordChange; answer: User }>('POST', '/v1/auth/me/password')
export const listSessions = endpoint<{ query: SessionList; answer: Sessions }>('GET', '/v1/auth/sessions')
export const endCurrentSession = endpoint<{ answer: unknown }>('DELETE', '/v1/auth/sessions/current')
export const endOneSession = endpoint<{ id: string; answer: unknown }>('DELETE', '/v1/auth/sessions/:id')
export const endOtherSessions = endpoint<{ answer: OtherSessionsEnded }>('DELETE', '/v1/auth/sessions/others')
export const switchWorkspace = endpoint<{ body: WorkspaceSwitch; answer: Session }>(
  'POST',
  '/v1/auth/sessions/current/workspace',
)
export const requestVerification = endpoint<{ answer: Accepted }>('POST', '/v1/auth/email_verifications')
export const verifyAddress = endpoint<{ body: VerificationConsume; answer: Verified }>(
  'POST',
  '/v1/auth/email_verifications/consume',
  'open',
)
export const requestReset = endpoint<{ body: ResetRequest; answer: Accepted }>(
  'POST',
  '/v1/auth/password_resets',
  'open',
)
export const resetPassword = endpoint<{ body: ResetConsume; answer: PasswordChanged }>(
  'POST',
  '/v1/auth/password_resets/consume',
  'open',
)
export const adoptWorkspace = endpoint<{ body: WorkspaceAdoption; answer: Membership }>(
  'POST',
  '/v1/auth/workspaces/adopt',
)
export const acceptInvite = endpoint<{ body: InviteAccept; answer: JoinedMember }>(
  'POST',
  '/v1/auth/invites/accept',
)
export const identifyInvite = endpoint<{ body: InviteIdentify; answer: IdentifiedInvite }>(
  'POST',
  '/v1/auth/invites/identify',
  'open',
)
export const keepWorkspace = endpoint<{ id: string; answer: Membership }>(
  'POST',
  '/v1/auth/workspaces/:id/keep',
)
export const leaveWorkspace = endpoint<{ id: string; answer: RemovedMember }>(
  'POST',
  '/v1/auth/workspaces/:id/leave',
)
export const giveUpWorkspace = endpoint<{ id: string; answer: unknown }>('DELETE', '/v1/auth/workspaces/:id')
