import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken, setOrigins, signToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { unlimited } from '../gate/principal.ts'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { mintEmbedToken } from './mint.ts'

/** Everything that a token depends on is checked with every request: once it is gone, the token is refused. */
const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)

const session = (by: string) => ask('GET', '/v1/embed/session', { token: by })
async function assertRefused(by: string, what: string): Promise<void> {
  const { status, body } = await session(by)
  assert.deepEqual([status, body.code], [401, 'unauthenticated'], what)
}

test('the token expires with its last second, by the database clock', async () => {
  const at = Math.floor(Date.now() / 1_000)
  const own = await signToken(harness, vendor, { expiresAt: at + 300 })
  try {
    for (const [ms, status] of [
      [-1_000, 200],
      [-1, 200],
      [0, 401],
      [1_000, 401],
    ] as const) {
      await harness.setStoreTime(new Date((at + 300) * 1_000 + ms))
      assert.equal((await session(own)).status, status, `${ms} ms`)
    }
    // The process clock does not matter.
    await harness.setStoreTime(new Date(at * 1_000))
    harness.clock.advance(3_600_000)
    assert.equal((await session(own)).status, 200)
  } finally {
    harness.clock.advance(-3_600_000)
    await harness.setStoreTime(null)
  }
})

test('revoking the tenant’s tokens ends them with the next request; a new token works', async () => {
  const own = await makeVendor(harness)
  const old = await mintToken(harness, own)
  assert.equal((await session(old)).status, 200)
  await ask('POST', `/v1/tenants/${own.tenantId}/embed_tokens/revoke`, { token: own.live })
  await assertRefused(old, 'of the previous epoch')
  assert.equal((await session(await mintToken(harness, own))).status, 200)
})

test('revoking the secret key that minted a token ends the token, and no other', async () => {
  const own = await makeVendor(harness)
  const { body: minter } = await ask('POST', '/v1/secret_keys', { token: own.live, body: { env: 'live' } })
  const theirs = await mintToken(harness, { ...own, live: minter.key })
  const ours = await mintToken(harness, own)
  for (const one of [theirs, ours]) assert.equal((await session(one)).status, 200)
  await ask('POST', `/v1/secret_keys/${minter.id}/revoke`, { token: own.live })
  await assertRefused(theirs, 'of a revoked key')
  assert.equal((await session(ours)).status, 200)
})

test('a token lasts through the overlap of the secret key that minted it', async () => {
  const own = await makeVendor(harness)
  const { body: minter } = await ask('POST', '/v1/secret_keys', { token: own.live, body: { env: 'live' } })
  const rotated = await ask('POST', `/v1/secret_keys/${minter.id}/rotate`, {
    token: own.live,
    body: { overlap_hours: 1 },
  })
  const end = Date.parse(rotated.body.predecessor.expires_at)
  try {
    await harness.setStoreTime(new Date(end - 60_000))
    const late = await mintToken(harness, { ...own, live: minter.key })
    for (const [ms, status] of [
      [-1, 200],
      [0, 401],
    ] as const) {
      await harness.setStoreTime(new Date(end + ms))
      assert.equal((await session(late)).status, status, `${ms} ms`)
    }
  } finally {
    await harness.setStoreTime(null)
  }
})

test('a token of a foreign or unknown secret key is refused', async () => {
  const other = await makeVendor(harness)
  for (const liveId of [other.liveId, other.workspaceId])
    await assertRefused(await signToken(harness, { ...vendor, liveId }), liveId)
})

test('minting with a key that is revoked during the request returns no token', async () => {
  const own = await makeVendor(harness)
  await ask('POST', `/v1/secret_keys/${own.liveId}/revoke`, { token: own.live })
  const minted = mintEmbedToken(
    harness.deps,
    // As the gate authenticated it a moment before.
    {
      ...unlimited,
      kind: 'secret_key',
      id: own.liveId,
      sessionId: null,
      workspaceId: own.workspaceId,
      role: 'owner',
      reach: 'both',
    },
    { project_id: own.projectId, tenant_id: own.tenantId, env: 'live' },
    new Deadline(30_000),
    () => assert.fail('it creates a tenant'),
  )
  await assert.rejects(minted, { code: 'unauthenticated' })
})

test('deleting the tenant or the project ends its tokens with the next request', async () => {
  for (const noun of ['tenants', 'projects']) {
    const own = await makeVendor(harness)
    const { body: tenant } = await ask('POST', '/v1/tenants', {
      token: own.live,
      body: { external_id: uniqueSlug() },
    })
    const { body: project } = await ask('POST', '/v1/projects', {
      token: own.live,
      body: { name: 'n', slug: uniqueSlug() },
    })
    const old = await mintToken(harness, own)
    const sibling = await mintToken(harness, { ...own, tenantId: tenant.id, projectId: project.id })
    assert.equal((await session(old)).status, 200)
    await ask('DELETE', `/v1/${noun}/${noun === 'tenants' ? own.tenantId : own.projectId}`, {
      token: own.live,
    })
    await assertRefused(old, noun)
    assert.equal((await session(sibling)).status, 200)
    const mint = { project_id: own.projectId, tenant_id: own.tenantId, env: 'live' }
    assert.equal((await ask('POST', '/v1/embed_tokens', { token: own.live, body: mint })).status, 404)
  }
})

test('the next request of a page fails once its origin is no longer registered', async () => {
  const own = await makeVendor(harness)
  await setOrigins(harness, own, ['https://app.example.com', 'https://b.example.com'])
  const narrow = await mintToken(harness, own, { origins: ['https://app.example.com'] })
  const from = (origin: string) => ask('GET', '/v1/embed/session', { token: narrow, headers: { origin } })
  assert.equal((await from('https://app.example.com')).status, 200)
  assert.equal((await from('https://b.example.com')).body.code, 'origin_not_allowed')
  await setOrigins(harness, own, ['https://b.example.com'])
  assert.equal((await from('https://app.example.com')).body.code, 'origin_not_allowed')
  assert.equal((await from('https://b.example.com')).body.code, 'origin_not_allowed')
})

test('a signed token with ids of different workspaces is refused', async () => {
  const other = await makeVendor(harness)
  for (const mixed of [
    { workspaceId: other.workspaceId },
    { tenantId: other.tenantId },
    { projectId: other.projectId },
  ])
    await assertRefused(await signToken(harness, { ...vendor, ...mixed }), JSON.stringify(mixed))
})
