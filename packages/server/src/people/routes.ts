/**
 * Accounts and sessions of people, outside any workspace. `accounts.ts` signs up, `sessions.ts` signs in, `proofs.ts`
 * accepts mailed tokens, and `standing.ts` is what other rooms may ask about a person.
 */

import {
  Accepted,
  Me,
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
  WorkspaceSwitch,
} from '@keyrail/contract/people'
import { deleted } from '@keyrail/contract/shared'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { changePassword, getMe, signUp, updateMe } from './accounts.ts'
import type { PeopleNeeds } from './needs.ts'
import { requestReset, requestVerification, resetPassword, verifyAddress } from './proofs.ts'
import { endOtherSessions, endSession, listSessions, signIn, switchWorkspace } from './sessions.ts'

const { openRoute, personRoute } = routesFor<PeopleNeeds>()

/** The response never varies. */
const accepted = { body: { status: 'accepted' } }
const EndedSession = deleted('session')

export const peopleRoutes: Route<PeopleNeeds>[] = [
  openRoute('POST', '/v1/auth/users', {
    operation: 'signUp',
    summary: 'Sign up',
    description:
      'Creates an account and mails a link that verifies the address. The response does not reveal whether the address already has an account.',
    body: SignUp,
    status: 202,
    answer: Accepted,
    async handle(deps, { db, body, client }) {
      await signUp(deps, db, body, client.ip)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/sessions', {
    operation: 'signIn',
    summary: 'Sign in',
    description: 'Opens a session for an e-mail address and password. The token is shown once.',
    body: SignIn,
    status: 201,
    answer: SignedIn,
    refusals: ['invalid_credentials', 'forbidden', 'workspace_unproven'],
    handle: async (deps, { db, body, client, hangUp }) => ({
      body: await signIn(deps, db, body, client, hangUp()),
    }),
  }),
  personRoute('GET', '/v1/auth/me', {
    operation: 'getMe',
    summary: 'Get the signed-in person',
    description: 'Returns the signed-in person and the workspaces that the person is a member of.',
    answer: Me,
    handle: async (_, { db, principal }) => ({ body: await getMe(db, principal) }),
  }),
  personRoute('PATCH', '/v1/auth/me', {
    operation: 'updateMe',
    summary: 'Update the signed-in person',
    description: 'Changes or removes the name.',
    body: MeUpdate,
    answer: User,
    handle: async (_, { db, principal, body }) => ({ body: await updateMe(db, principal, body) }),
  }),
  personRoute('POST', '/v1/auth/me/password', {
    operation: 'changePassword',
    summary: 'Change the password',
    description: 'Sets a new password; the current one is required. Every other session of the person ends.',
    body: PasswordChange,
    answer: User,
    refusals: ['invalid_credentials'],
    endsRights: true,
    handle: async (deps, { db, principal, body, client }) => ({
      body: await changePassword(deps, db, principal, body, client),
    }),
  }),
  personRoute('GET', '/v1/auth/sessions', {
    operation: 'listSessions',
    summary: 'List sessions',
    description: 'Returns the active sessions of the signed-in person, newest first.',
    query: SessionList,
    answer: Sessions,
    handle: async (deps, { db, principal, query }) => ({
      body: await listSessions(deps, db, principal, query),
    }),
  }),
  personRoute('DELETE', '/v1/auth/sessions/current', {
    operation: 'endCurrentSession',
    summary: 'Sign out',
    description: 'Ends the session that sends the request.',
    answer: EndedSession,
    endsRights: true,
    handle: async (deps, { db, principal, client }) => ({
      body: await endSession(deps, db, principal, principal.sessionId, client),
    }),
  }),
  personRoute('DELETE', '/v1/auth/sessions/others', {
    operation: 'endOtherSessions',
    summary: 'End all other sessions',
    description: 'Ends every session of the signed-in person except the one that sends the request.',
    answer: OtherSessionsEnded,
    endsRights: true,
    handle: async (deps, { db, principal, client }) => ({
      body: await endOtherSessions(deps, db, principal, client),
    }),
  }),
  personRoute('DELETE', '/v1/auth/sessions/:id', {
    operation: 'endSession',
    summary: 'End a session',
    description: 'Ends one session of the signed-in person.',
    answer: EndedSession,
    endsRights: true,
    target: 'session',
    handle: async (deps, { db, principal, id, client }) => ({
      body: await endSession(deps, db, principal, id, client),
    }),
  }),
  personRoute('POST', '/v1/auth/sessions/current/workspace', {
    operation: 'switchWorkspace',
    summary: 'Switch workspace',
    description: 'Moves the session to another workspace of the person. The token stays the same.',
    forVerified: true,
    body: WorkspaceSwitch,
    answer: Session,
    refusals: ['forbidden', 'workspace_unproven'],
    handle: async (deps, { db, principal, body, client }) => ({
      body: await switchWorkspace(deps, db, principal, body.workspace_id.toLowerCase(), client),
    }),
  }),
  personRoute('POST', '/v1/auth/email_verifications', {
    operation: 'requestVerification',
    summary: 'Request a verification link',
    description: 'Mails a new link, which replaces the last one. A verified address gets no mail.',
    status: 202,
    answer: Accepted,
    async handle(_, { db, principal, client }) {
      await requestVerification(db, principal, client.ip)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/email_verifications/consume', {
    operation: 'verifyAddress',
    summary: 'Verify an address',
    description:
      'Verifies the address of an account, or the billing address of a workspace, with the token of a mailed link. The token works once. The answer lists what the account made before: somebody else may have signed up with the address.',
    body: VerificationConsume,
    answer: Verified,
    refusals: ['invalid_token'],
    async handle(deps, { db, body, client }) {
      return { body: await verifyAddress(deps, db, body.token, client) }
    },
  }),
  openRoute('POST', '/v1/auth/password_resets', {
    operation: 'requestReset',
    summary: 'Request a password reset',
    description:
      'Mails a link to reset the password. The response does not reveal whether the address has an account.',
    body: ResetRequest,
    status: 202,
    answer: Accepted,
    async handle(deps, { db, body, client }) {
      await requestReset(deps, db, body.email, client)
      return accepted
    },
  }),
  openRoute('POST', '/v1/auth/password_resets/consume', {
    operation: 'resetPassword',
    summary: 'Reset a password',
    description:
      'Sets a new password with the token of a mailed link, and verifies the address. Every session of the person ends. Where no person has shown that the account belongs to the address, so does all that it made: its secret keys and invitations end, and its workspaces become unproven.',
    body: ResetConsume,
    answer: PasswordChanged,
    refusals: ['invalid_token'],
    async handle(deps, { db, body, client }) {
      return { body: await resetPassword(deps, db, body, client) }
    },
  }),
]
