import type { CreatedKey, Key, RotatedKey } from '@keyrail/contract/vendor/keys'
import type { Project } from '@keyrail/contract/vendor/projects'
import type { Tenant } from '@keyrail/contract/vendor/tenants'
import type { Static } from 'typebox'
import { type Conversation, expect } from './talk.ts'

/** The vendor's setup: a customer's key, and what is needed to issue more. */
export interface Vendor {
  token: string
  projectId: string
  tenantId: string
  /** The customer's working key. */
  key: { id: string; key: string }
}

/** A vendor's backend issues a key to a customer, rotates it and revokes the old one. */
export async function issueKeys(talk: Conversation, token: string): Promise<Vendor> {
  const project = await registerApi(talk, token)
  const tenant = await signUp(talk, token)
  const created = await createKey(talk, token, project.id, tenant.id)
  const rotated = await replaceKey(talk, token, created)
  return {
    token,
    projectId: project.id,
    tenantId: tenant.id,
    key: { id: rotated.id, key: rotated.key ?? '' },
  }
}

const registerApi = (talk: Conversation, token: string): Promise<Project> =>
  talk.ask<Project>({
    title: 'The vendor registers the API that keys will protect',
    method: 'POST',
    path: '/v1/projects',
    token,
    body: {
      name: 'Payments',
      slug: 'payments',
      key_prefix: 'acme',
      default_rate_limits: [
        { id: 'burst', limit: 100, window_ms: 60_000, algorithm: 'sliding', scope: 'key' },
      ],
    },
    status: 201,
    show: ['id', 'name', 'key_prefix', 'default_rate_limits'],
  })

const signUp = (talk: Conversation, token: string): Promise<Tenant> =>
  talk.ask<Tenant>({
    title: 'A customer signs up with the vendor',
    method: 'POST',
    path: '/v1/tenants',
    token,
    body: { external_id: 'customer-42', name: 'Globex' },
    status: 201,
    show: ['id', 'external_id', 'name'],
  })

async function createKey(
  talk: Conversation,
  token: string,
  projectId: string,
  tenantId: string,
): Promise<{ id: string; key: string }> {
  const created = await talk.ask<Static<typeof CreatedKey>>({
    title: 'The customer gets a key; this answer is the only place where it is ever shown',
    method: 'POST',
    path: '/v1/keys',
    token,
    body: {
      project_id: projectId,
      tenant_id: tenantId,
      env: 'live',
      name: 'Production',
      scopes: ['payments:write'],
    },
    status: 201,
    show: ['id', 'scopes', 'key'],
  })
  const { id, key = '' } = created
  expect(/^acme_live_[0-9A-Za-z]{38}$/.test(key), 'the key has the prefix of its project, and 38 characters')

  const read = await talk.ask<Key>({
    title: 'Later reads do not show the key itself',
    method: 'GET',
    path: `/v1/keys/${id}`,
    token,
    status: 200,
    show: ['id', 'name', 'display_prefix', 'expires_at', 'revoked_at'],
  })
  expect(!JSON.stringify(read).includes(key), 'a key is shown once')
  expect(key.startsWith(read.display_prefix), 'the display prefix begins the key')
  return { id, key }
}

async function replaceKey(
  talk: Conversation,
  token: string,
  { id, key }: { id: string; key: string },
): Promise<Static<typeof RotatedKey>> {
  const rotated = await talk.ask<Static<typeof RotatedKey>>({
    title: 'The customer rotates it: both work for 24 hours',
    method: 'POST',
    path: `/v1/keys/${id}/rotate`,
    token,
    body: { overlap_hours: 24 },
    status: 200,
    show: ['id', 'rotated_from', 'key', 'predecessor.expires_at'],
  })
  expect(
    rotated.rotated_from === id && rotated.key !== key,
    'the successor is a new key, and names the one it replaces',
  )

  const revoked = await talk.ask<Key>({
    title: 'The old key has leaked and is revoked at once, before its 24 hours are over',
    method: 'POST',
    path: `/v1/keys/${id}/revoke`,
    token,
    body: { reason: 'found in a public repository' },
    status: 200,
    show: ['id', 'revoked_at', 'revoked_reason', 'rotated_to'],
  })
  expect(revoked.revoked_at !== null && revoked.rotated_to === rotated.id, 'the old key is revoked')
  return rotated
}

/** What the servers of the vendor's API receive instead of the vendor's own key. */
export async function makeServerKey(talk: Conversation, vendor: Vendor): Promise<string> {
  const server = await talk.ask<{ key: string }>({
    title: 'The server gets its own key, which verifies keys and cannot issue any',
    method: 'POST',
    path: '/v1/secret_keys',
    token: vendor.token,
    body: { env: 'live', name: 'payments servers', preset: 'node', project_ids: [vendor.projectId] },
    status: 201,
    show: ['id', 'permissions', 'project_ids', 'key'],
  })
  await talk.ask<{ code?: string }>({
    title: 'A stolen server key cannot issue keys',
    method: 'POST',
    path: '/v1/keys',
    token: server.key,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
    status: 403,
    show: ['code', 'detail'],
  })
  return server.key
}
