import { memberRoutes } from '@keyrail/contract/routes/members'
import { owners, readers, unlimitedOnly } from '../gate/access.ts'
import { servedWith } from '../gate/serve.ts'
import { acceptInvite } from './accept.ts'
import { changeRole, leaveAsPerson, listMembers, removeMember } from './actions.ts'
import type { MemberNeeds } from './needs.ts'

const serve = servedWith<MemberNeeds>()

export const routes = serve(memberRoutes, {
  'GET /v1/members': {
    access: readers,
    handle: async (deps, { db, principal, query }) => ({
      body: await listMembers({ deps, db, principal }, query),
    }),
  },
  'PATCH /v1/members/:userId': {
    access: unlimitedOnly(owners),
    endsRights: true,
    target: 'member',
    handle: async (deps, { db, principal, id, body, client }) => ({
      body: await changeRole({ deps, db, principal }, id, body, client),
    }),
  },
  'DELETE /v1/members/:userId': {
    access: owners,
    endsRights: true,
    target: 'member',
    handle: async (deps, { db, principal, id, query }) => ({
      body: await removeMember({ deps, db, principal }, id, { revokesKeys: query.revoke_keys === 'true' }),
    }),
  },
  'POST /v1/auth/workspaces/:id/leave': {
    endsRights: true,
    target: 'own_workspace',
    handle: async (deps, { db, principal, id }) => ({
      body: await leaveAsPerson({ deps, db, principal }, id),
    }),
  },
  'POST /v1/auth/invites/accept': {
    handle: async (deps, { db, principal, body, client }) => ({
      body: await acceptInvite({ deps, db, principal }, body.token, client),
    }),
  },
})
