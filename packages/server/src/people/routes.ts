import {
  Accepted,
  Me,
  MeUpdate,
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
  WorkspaceSwitch,
} from '@keyrail/contract/people'
import { deleted } from '@keyrail/contract/shared'
import { openRoute, personRoute, type Route } from '../gate/route.ts'
import { changePassword, getMe, signUp, updateMe } from './accounts.ts'
import { requestReset, requestVerification, resetPassword, verifyAddress } from './proofs.ts'
import { endSession, listSessions, signIn, switchWorkspace } from './sessions.ts'

/** Always these bytes. */
const accepted = { body: { status: 'accepted' } }
const EndedSession = deleted('session')

export const peopleRoutes: Route[] = [
  openRoute('POST', '/v1/auth/users', {
    operation: 'signUp',
    summary: 'Sign up. The answer is the same whether or not the address has an account',
    body: SignUp,
    status: 202,
    answer: Accepted,
    async handle(deps, { body, ip }) {
      await signUp(deps, body, ip)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/sessions', {
    operation: 'signIn',
    summary: 'Sign in',
    body: SignIn,
    status: 201,
    answer: SignedIn,
    refusals: ['invalid_credentials', 'forbidden'],
    handle: async (deps, { body, client, hangUp }) => ({
      body: await signIn(deps, body, client, hangUp()),
    }),
  }),
  personRoute('GET', '/v1/auth/me', {
    operation: 'getMe',
    summary: 'Read the signed-in person',
    answer: Me,
    handle: async (deps, { principal }) => ({ body: await getMe(deps, principal) }),
  }),
  personRoute('PATCH', '/v1/auth/me', {
    operation: 'updateMe',
    summary: 'Change the name of the signed-in person',
    body: MeUpdate,
    answer: User,
    handle: async (deps, { principal, body }) => ({ body: await updateMe(deps, principal, body) }),
  }),
  personRoute('POST', '/v1/auth/me/password', {
    operation: 'changePassword',
    summary: 'Change the password; every other session of the person ends',
    body: PasswordChange,
    answer: User,
    refusals: ['invalid_credentials'],
    handle: async (deps, { principal, body, client }) => ({
      body: await changePassword(deps, principal, body, client),
    }),
  }),
  personRoute('GET', '/v1/auth/sessions', {
    operation: 'listSessions',
    summary: 'List the sessions of the signed-in person that are alive, newest first',
    query: SessionList,
    answer: Sessions,
    handle: async (deps, { principal, query }) => ({ body: await listSessions(deps, principal, query) }),
  }),
  personRoute('DELETE', '/v1/auth/sessions/current', {
    operation: 'endCurrentSession',
    summary: 'Sign out',
    answer: EndedSession,
    handle: async (deps, { principal, client }) => ({
      body: await endSession(deps, principal, principal.sessionId, client),
    }),
  }),
  personRoute('DELETE', '/v1/auth/sessions/:id', {
    operation: 'endSession',
    summary: 'End a session of the signed-in person',
    answer: EndedSession,
    handle: async (deps, { principal, id, client }) => ({
      body: await endSession(deps, principal, id, client),
    }),
  }),
  personRoute('POST', '/v1/auth/sessions/current/workspace', {
    operation: 'switchWorkspace',
    summary: 'Act in another workspace with the same session',
    body: WorkspaceSwitch,
    answer: Session,
    refusals: ['forbidden'],
    handle: async (deps, { principal, body, client }) => ({
      body: await switchWorkspace(deps, principal, body.workspace_id.toLowerCase(), client),
    }),
  }),
  personRoute('POST', '/v1/auth/email_verifications', {
    operation: 'requestVerification',
    summary: 'Ask for another verification link. Nothing is sent to who is verified already',
    status: 202,
    answer: Accepted,
    async handle(deps, { principal }) {
      await requestVerification(deps, principal)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/email_verifications/consume', {
    operation: 'verifyAddress',
    summary: 'Verify the address that a mailed token proves',
    body: VerificationConsume,
    answer: Verified,
    refusals: ['invalid_token'],
    async handle(deps, { body, client }) {
      await verifyAddress(deps, body.token, client)
      return { body: { status: 'verified' } }
    },
  }),
  openRoute('POST', '/v1/auth/password_resets', {
    operation: 'requestReset',
    summary: 'Ask for a reset link. The answer is the same whether or not the address has an account',
    body: ResetRequest,
    status: 202,
    answer: Accepted,
    async handle(deps, { body, client }) {
      await requestReset(deps, body.email, client)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/password_resets/consume', {
    operation: 'resetPassword',
    summary: 'Set a new password by a mailed token; every session of the person ends',
    body: ResetConsume,
    answer: PasswordChanged,
    refusals: ['invalid_token'],
    async handle(deps, { body, client }) {
      await resetPassword(deps, body, client)
      return { body: { status: 'password_changed' } }
    },
  }),
]
