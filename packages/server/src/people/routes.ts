import { peopleRoutes } from '@keyrail/contract/routes/people'
import { servedWith } from '../gate/serve.ts'
import { changePassword, getMe, signUp, updateMe } from './accounts.ts'
import type { PeopleNeeds } from './needs.ts'
import { requestReset, requestVerification, resetPassword, verifyAddress } from './proofs.ts'
import { endOtherSessions, endSession, listSessions, signIn, switchWorkspace } from './sessions.ts'

const serve = servedWith<PeopleNeeds>()

/** The response never varies. */
const accepted = { body: { status: 'accepted' } }

export const routes = serve(peopleRoutes, {
  'POST /v1/auth/users': {
    async handle(deps, { db, body, client }) {
      await signUp(deps, db, body, client.ip)
      return accepted
    },
  },
  'POST /v1/auth/sessions': {
    handle: async (deps, { db, body, client, hangUp }) => ({
      body: await signIn(deps, db, body, client, hangUp()),
    }),
  },
  'GET /v1/auth/me': {
    handle: async (_, { db, principal }) => ({ body: await getMe(db, principal) }),
  },
  'PATCH /v1/auth/me': {
    handle: async (_, { db, principal, body }) => ({ body: await updateMe(db, principal, body) }),
  },
  'POST /v1/auth/me/password': {
    endsRights: true,
    handle: async (deps, { db, principal, body, client }) => ({
      body: await changePassword({ deps, db, principal }, body, client),
    }),
  },
  'GET /v1/auth/sessions': {
    handle: async (deps, { db, principal, query }) => ({
      body: await listSessions({ deps, db, principal }, query),
    }),
  },
  'DELETE /v1/auth/sessions/current': {
    endsRights: true,
    handle: async (deps, { db, principal, client }) => ({
      body: await endSession({ deps, db, principal }, principal.sessionId, client),
    }),
  },
  'DELETE /v1/auth/sessions/others': {
    endsRights: true,
    handle: async (deps, { db, principal, client }) => ({
      body: await endOtherSessions({ deps, db, principal }, client),
    }),
  },
  'DELETE /v1/auth/sessions/:id': {
    endsRights: true,
    target: 'session',
    handle: async (deps, { db, principal, id, client }) => ({
      body: await endSession({ deps, db, principal }, id, client),
    }),
  },
  'POST /v1/auth/sessions/current/workspace': {
    handle: async (deps, { db, principal, body, client }) => ({
      body: await switchWorkspace({ deps, db, principal }, body.workspace_id.toLowerCase(), client),
    }),
  },
  'POST /v1/auth/email_verifications': {
    async handle(_, { db, principal, client }) {
      await requestVerification(db, principal, client.ip)
      return accepted
    },
  },
  'POST /v1/auth/email_verifications/consume': {
    async handle(deps, { db, body, client }) {
      return { body: await verifyAddress(deps, db, body.token, client) }
    },
  },
  'POST /v1/auth/password_resets': {
    async handle(deps, { db, body, client }) {
      await requestReset(deps, db, body.email, client)
      return accepted
    },
  },
  'POST /v1/auth/password_resets/consume': {
    async handle(deps, { db, body, client }) {
      return { body: await resetPassword(deps, db, body, client) }
    },
  },
})
