import { inviteRoutes } from '@keyrail/contract/routes/invites'
import { owners, readers, unlimitedOnly } from '../gate/access.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import { servedWith } from '../gate/serve.ts'
import { createInvite, listInvites, revokeInvite } from './actions.ts'
import { identifyInvite } from './shown.ts'

const serve = servedWith<CommonNeeds>()

export const routes = serve(inviteRoutes, {
  'POST /v1/invites': {
    access: unlimitedOnly(owners),
    handle: (deps, { db, principal, body, replay, client }) =>
      createInvite({ deps, db, principal }, body, replay, client),
  },
  'GET /v1/invites': {
    access: readers,
    handle: async (deps, { db, principal, query }) => ({
      body: await listInvites({ deps, db, principal }, query),
    }),
  },
  'POST /v1/invites/:id/revoke': {
    access: owners,
    endsRights: true,
    target: 'invite',
    handle: async (deps, { db, principal, id }) => ({
      body: await revokeInvite({ deps, db, principal }, id),
    }),
  },
  'POST /v1/auth/invites/identify': {
    handle: async (_, { db, body }) => ({ body: await identifyInvite(db, body.token) }),
  },
})
