import assert from 'node:assert/strict'
import type { Harness } from './harness.ts'
import { type MadePerson, makePerson } from './people.ts'
import { makeVendor, uniqueSlug } from './vendor.ts'

/** What people and secret keys make, for tests of what becomes of it. */

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
    async makeKey(token: string, env = 'live'): Promise<MadeKey> {
      const { status, body } = await ask('POST', '/v1/secret_keys', { token, body: { env } })
      assert.equal(status, 201, JSON.stringify(body))
      return body
    },
    async invite(token: string): Promise<MadeInvite> {
      const address = `${uniqueSlug()}@example.com`
      const invitation = { email: address, role: 'owner' }
      const { status, body } = await ask('POST', '/v1/invites', { token, body: invitation })
      assert.equal(status, 201, JSON.stringify(body))
      return body
    },
    revoke: (token: string, id: string, body?: object) =>
      ask('POST', `/v1/secret_keys/${id}/revoke`, { token, ...(body && { body }) }),
    accept: ({ token }: MadePerson, invitation: { token: string }) =>
      ask('POST', '/v1/auth/invites/accept', { token, body: { token: invitation.token } }),
    isAlive: async ({ key }: { key: string }) =>
      (await ask('GET', '/v1/workspace', { token: key })).status === 200,
    /** Of an invitation. */
    async statusOf(token: string, { id }: { id: string }): Promise<string> {
      const { body } = await ask('GET', '/v1/invites?limit=200', { token })
      return body.data.find((row: { id: string }) => row.id === id).status
    },
    /** What the log tells of keys and invitations that were revoked, oldest first. */
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
    /** A workspace with an owner who stays, and one whose time is over soon: they have made a key, which has made another. */
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
