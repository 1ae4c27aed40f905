import assert from 'node:assert/strict'
import { connect } from '../src/platform/db/connection.ts'
import { removeWorkspace } from '../src/workspace/removal.ts'
import type { Harness, Heard } from './harness.ts'
import { type MadePerson, madePassword, openSession } from './people.ts'
import type { Vendor } from './vendor.ts'

/** Ways to end a right while a request that uses it is running. Each one ends it with one API request. */

export interface Ending {
  name: string
  /** The last row that the request locks before its commit. */
  lastLock(): [string, unknown[]]
  end(): Promise<Pick<Heard, 'status'>>
  /** The audit rows that it writes in the name of the right's holder, who ended it. */
  rows?: string[]
}

const auditHeadOf = (workspaceId: string): [string, unknown[]] => [
  'select seq from audit_heads where workspace_id = $1 for update',
  [workspaceId],
]

export const revokeSecretKey = ({ ask }: Harness, { live, workspaceId }: Vendor, id: string): Ending => ({
  name: 'the secret key is revoked',
  lastLock: () => auditHeadOf(workspaceId),
  end: () => ask('POST', `/v1/secret_keys/${id}/revoke`, { token: live }),
})

/** @param minter a secret key that nothing else uses; one of the endings revokes it. */
export const endEmbedTokens = (
  { ask }: Harness,
  { live, workspaceId }: Pick<Vendor, 'live' | 'workspaceId'>,
  tenantId: string,
  minter: { id: string; key: string },
): Ending[] => [
  {
    name: 'the secret key that minted the token is revoked',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('POST', `/v1/secret_keys/${minter.id}/revoke`, { token: minter.key }),
  },
  {
    name: 'the epoch of the tenant is raised',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`, { token: live }),
  },
  {
    name: 'the tenant is suspended',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('POST', `/v1/tenants/${tenantId}/suspend`, { token: live }),
  },
  {
    name: 'the tenant is deleted',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('DELETE', `/v1/tenants/${tenantId}`, { token: live }),
  },
]

export const endMembership = (
  { ask, query }: Harness,
  { live, workspaceId }: Vendor,
  { userId }: Pick<MadePerson, 'userId'>,
): Ending[] => [
  {
    name: 'the member is removed',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('DELETE', `/v1/members/${userId}`, { token: live }),
  },
  {
    name: 'the member is demoted',
    lastLock: () => auditHeadOf(workspaceId),
    end: () => ask('PATCH', `/v1/members/${userId}`, { token: live, body: { role: 'member' } }),
  },
  {
    name: 'the member leaves in another session',
    lastLock: () => auditHeadOf(workspaceId),
    end: async () =>
      ask('POST', `/v1/auth/workspaces/${workspaceId}/leave`, {
        token: (await openSession(query, userId)).token,
      }),
    rows: ['workspace_member.removed'],
  },
]

export const endSession = (
  { ask, query }: Harness,
  { userId, sessionId }: Pick<MadePerson, 'userId' | 'sessionId'>,
): Ending[] => [
  {
    name: 'the session is ended',
    lastLock: () => ['select from sessions where id = $1 for update', [sessionId]],
    end: async () =>
      ask('DELETE', `/v1/auth/sessions/${sessionId}`, { token: (await openSession(query, userId)).token }),
  },
  {
    name: 'another session ends all others',
    lastLock: () => ['select from sessions where id = $1 for update', [sessionId]],
    end: async () =>
      ask('DELETE', '/v1/auth/sessions/others', { token: (await openSession(query, userId)).token }),
  },
  {
    name: 'the password is changed',
    lastLock: () => ['select from sessions where id = $1 for update', [sessionId]],
    end: async () =>
      ask('POST', '/v1/auth/me/password', {
        token: (await openSession(query, userId)).token,
        body: { current_password: madePassword, password: 'another horse and battery' },
      }),
  },
]

export async function deleteWorkspace({ connection }: Harness, workspaceId: string): Promise<void> {
  const client = await connect(connection, 'test', false)
  try {
    assert.notEqual(await removeWorkspace(client, workspaceId), null)
  } finally {
    await client.end()
  }
}
