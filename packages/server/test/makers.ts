import type { Harness } from './harness.ts'
import { type MadePerson, makePerson } from './people.ts'
import { makeInvite, makeSecretKey, makeVendor } from './vendor.ts'

/** Makes secret keys and invitations for tests of cascades. */

export interface MadeKey {
  id: string
  key: string
}
export interface MadeInvite {
  id: string
  token: string
  created_by: { type: string; id: string } | null
}

interface Row {
  action: string
  target_id: string
  payload: Record<string, unknown>
}

export function makersOf(harness: Harness) {
  const { ask, query } = harness
  const makers = {
    makeKey: (token: string, env = 'live'): Promise<MadeKey> =>
      makeSecretKey(harness, { live: token }, { env }),
    invite: (token: string): Promise<MadeInvite> => makeInvite(harness, { live: token }, { role: 'owner' }),
    revoke: (token: string, id: string, body?: object) =>
      ask('POST', `/v1/secret_keys/${id}/revoke`, { token, ...(body && { body }) }),
    accept: ({ token }: MadePerson, invitation: { token: string }) =>
      ask('POST', '/v1/auth/invites/accept', { token, body: { token: invitation.token } }),
    isAlive: async ({ key }: { key: string }) =>
      (await ask('GET', '/v1/workspace', { token: key })).status === 200,
    /** The status of an invitation. */
    async statusOf(token: string, { id }: { id: string }): Promise<string> {
      const { body } = await ask('GET', '/v1/invites?limit=200', { token })
      return body.data.find((row: { id: string }) => row.id === id).status
    },
    /** The revocations of keys and invitations in the audit log, oldest first. */
    async revocationsIn(token: string) {
      const rows: Row[] = (await ask('GET', '/v1/audit_logs?limit=200', { token })).body.data
      return rows
        .filter(({ action }) => /^(secret_key|workspace_invite)\.revoked$/.test(action))
        .map(({ action, target_id, payload: { reason, ancestor } }) => ({
          action,
          target_id,
          reason,
          ancestor,
        }))
    },
    /** A workspace with two owners. The leaver, removed later, has made a key, and that key another one. */
    async makeScene() {
      const vendor = await makeVendor(harness)
      const { workspaceId } = vendor
      const owner = await makePerson(query, { workspaceId, role: 'owner' })
      const leaver = await makePerson(query, { workspaceId, role: 'owner' })
      const child = await makers.makeKey(leaver.token)
      const grandchild = await makers.makeKey(child.key)
      return { ...vendor, owner, leaver, child, grandchild }
    },
  }
  return makers
}

export const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
