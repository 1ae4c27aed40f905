import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { EmbedClaims } from '../src/gate/authenticate-embed.ts'
import { drawToken } from '../src/platform/crypto/token.ts'
import { signToken } from './embed.ts'
import { bootstrapToken, type Harness } from './harness.ts'
import { makePerson, type PersonTraits } from './people.ts'
import { issueKey, makeSecretKey, makeVendor, uniqueSlug, type Vendor } from './vendor.ts'

/** Every kind of `Authorization` header, by name: the values to send, one per header. */
export async function makeCredentials(harness: Harness, vendor: Vendor): Promise<Record<string, string[]>> {
  const make = (env: string, more: object = {}) => makeSecretKey(harness, vendor, { env, ...more })
  const revoked = await make('live')
  const { status } = await harness.ask('POST', `/v1/secret_keys/${revoked.id}/revoke`, { token: vendor.live })
  assert.equal(status, 200)
  const bearer = (token: string) => [`Bearer ${token}`]
  return {
    none: [],
    malformed: ['Bearer two words'],
    'two Authorization headers': [`Bearer ${vendor.live}`, `Bearer ${vendor.live}`],
    'wrong scheme': [`Basic ${Buffer.from(`${vendor.live}:`).toString('base64')}`],
    'unknown well-formed key': bearer(drawToken('krsk_live', randomBytes)),
    'mistyped checksum': bearer(mistyped(vendor.live)),
    'test key edited to live': bearer(vendor.test.replace('_test_', '_live_')),
    revoked: bearer(revoked.key),
    expired: bearer((await make('live', { expires_at: '2020-01-01T00:00:00Z' })).key),
    'owner live': bearer(vendor.live),
    'owner test': bearer(vendor.test),
    'admin live': bearer(await demoted(harness, await make('live'))),
    'admin test': bearer(await demoted(harness, await make('test'))),
    'foreign owner live': bearer((await makeVendor(harness)).live),
    bootstrap: bearer(bootstrapToken),
    'wrong bootstrap': bearer(`${bootstrapToken}0`),
    'issued API key': bearer((await issueKey(harness, vendor)).key),
    'unknown session': bearer(drawToken('krses', randomBytes)),
    ...(await makeSessions(harness, vendor)),
    ...(await makeEmbedTokens(harness, vendor, revoked.id)),
  }
}

/** How long the embed tokens in a set are certain to stay valid, in ms. It leaves time for one more walk. */
const freshMs = 120_000

/** Returns the same credentials for many calls, and makes new ones before the embed tokens expire. */
export function freshCredentials(harness: Harness, vendor: Vendor): () => Promise<Record<string, string[]>> {
  let madeAt = Number.NEGATIVE_INFINITY
  let held: Record<string, string[]> = {}
  return async () => {
    if (performance.now() - madeAt > freshMs) {
      madeAt = performance.now()
      held = await makeCredentials(harness, vendor)
    }
    return held
  }
}

/** Embed tokens in every state. The service signs all but the forged one. They live five minutes. */
async function makeEmbedTokens(
  harness: Harness,
  vendor: Vendor,
  revokedId: string,
): Promise<Record<string, string[]>> {
  const sign = async (of: Partial<Vendor> = {}, claims: Partial<EmbedClaims> = {}) => [
    `Bearer ${await signToken(harness, { ...vendor, ...of }, claims)}`,
  ]
  const removed = async (noun: string, body: object) => {
    const { body: made } = await harness.ask('POST', `/v1/${noun}`, { token: vendor.live, body })
    await harness.ask('DELETE', `/v1/${noun}/${made.id}`, { token: vendor.live })
    return made.id as string
  }
  const [valid = ''] = await sign()
  return {
    'embed token': [valid],
    'embed token of test': await sign({}, { env: 'test' }),
    'embed token without scopes': await sign({}, { scopes: [] }),
    'embed token of elsewhere': await sign(await makeVendor(harness)),
    'embed token of another epoch': await sign({}, { epoch: 2 }),
    'embed token of a deleted tenant': await sign({
      tenantId: await removed('tenants', { external_id: uniqueSlug() }),
    }),
    'embed token of a deleted project': await sign({
      projectId: await removed('projects', { name: 'gone', slug: uniqueSlug() }),
    }),
    'embed token of a sibling': await sign({ tenantId: (await makeVendor(harness)).tenantId }),
    'expired embed token': await sign({}, { expiresAt: Math.floor(Date.now() / 1_000) - 1 }),
    'embed token of a revoked key': await sign({ liveId: revokedId }),
    'forged embed token': [mistyped(valid)],
  }
}

/** Sessions in every state: by role, removed, in another workspace, in no workspace, ended and expired. */
async function makeSessions(harness: Harness, { workspaceId }: Vendor): Promise<Record<string, string[]>> {
  const { query } = harness
  const session = async (traits: PersonTraits, change = '') => {
    const { token, userId } = await makePerson(query, traits)
    if (change !== '') await query(change, [userId])
    return [`Bearer ${token}`]
  }
  const member = { workspaceId, role: 'member' } as const
  const elsewhere = await makeVendor(harness)
  return {
    'owner session': await session({ workspaceId, role: 'owner' }),
    'admin session': await session({ workspaceId, role: 'admin' }),
    'member session': await session(member),
    'session of a removed owner': await session(
      { workspaceId, role: 'owner' },
      'update workspace_members set removed_at = service_now() where user_id = $1',
    ),
    'session of a foreign owner': await session({ workspaceId: elsewhere.workspaceId, role: 'owner' }),
    'session in no workspace': await session({}),
    'ended session': await session(
      { workspaceId, role: 'owner' },
      'update sessions set ended_at = service_now() where user_id = $1',
    ),
    'expired session': await session(
      { workspaceId, role: 'owner' },
      'update sessions set expires_at = service_now() where user_id = $1',
    ),
    'idle session': await session(
      { workspaceId, role: 'owner' },
      `update sessions set last_seen_at = service_now() - interval '24 hours' where user_id = $1`,
    ),
  }
}

/** Makes an admin's key. Only admins make such keys, and the first admin joins by mail, so this changes the row. */
async function demoted({ query }: Harness, { id, key }: { id: string; key: string }): Promise<string> {
  await query(`update secret_keys set role = 'admin' where id = $1`, [id])
  return key
}

/** Changes the last character. */
const mistyped = (token: string) => token.slice(0, -1) + (token.endsWith('a') ? 'b' : 'a')
