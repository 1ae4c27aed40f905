import assert from 'node:assert/strict'
import type { EmbedClaims } from '../src/gate/authenticate-embed.ts'
import type { Harness } from './harness.ts'
import type { AskApi } from './mutations.ts'
import type { Vendor } from './vendor.ts'

/** The default scopes in tests: everything a widget may do, and two scopes for the keys that it makes. */
const embedScopes = [
  'keys:read',
  'keys:write',
  'network:write',
  'key_scope:charges:read',
  'key_scope:refunds',
]

/** Mints a token over the API, as a vendor's server would. */
export async function mintToken(
  { ask }: { ask: AskApi },
  { live, projectId, tenantId }: Pick<Vendor, 'live' | 'projectId' | 'tenantId'>,
  more: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await ask('POST', '/v1/embed_tokens', {
    token: live,
    body: { project_id: projectId, tenant_id: tenantId, env: 'live', scopes: embedScopes, ...more },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.token
}

/** Signs a token that the service never issued, for example with another age, epoch or parent. */
export async function signToken(
  { deps }: Pick<Harness, 'deps'>,
  vendor: Pick<Vendor, 'workspaceId' | 'projectId' | 'tenantId' | 'liveId'>,
  more: Partial<EmbedClaims> = {},
): Promise<string> {
  const { workspaceId, projectId, tenantId, liveId } = vendor
  const issuedAt = Math.floor(Date.now() / 1_000)
  return await deps.embedTokens.mint({
    id: deps.makeId(),
    workspaceId,
    projectId,
    tenantId,
    mintedBy: liveId,
    env: 'live',
    scopes: embedScopes,
    origins: null,
    epoch: 1,
    issuedAt,
    expiresAt: issuedAt + 300,
    ...more,
  })
}

export const setOrigins = async ({ ask }: { ask: AskApi }, { live }: Vendor, origins: string[]) => {
  const { status } = await ask('PATCH', '/v1/workspace', { token: live, body: { embed_origins: origins } })
  assert.equal(status, 200)
}
