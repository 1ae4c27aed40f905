import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken, setOrigins, signToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'

/** What a token is bound to is asked at every request: once it is gone, so is the token. */
const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)

const session = (by: string) => ask('GET', '/v1/embed/session', { token: by })
async function assertRefused(by: string, what: string): Promise<void> {
  const { status, body } = await session(by)
  assert.deepEqual([status, body.code], [401, 'unauthenticated'], what)
}

test('the token ends with its last second, by the store’s clock', async () => {
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
    // The process's own clock has no say.
    await harness.setStoreTime(new Date(at * 1_000))
    harness.clock.advance(3_600_000)
    assert.equal((await session(own)).status, 200)
  } finally {
    harness.clock.advance(-3_600_000)
    await harness.setStoreTime(null)
  }
})

test('the next request fails once the tenant’s tokens were revoked, and a new token works', async () => {
  const own = await makeVendor(harness)
  const old = await mintToken(harness, own)
  assert.equal((await session(old)).status, 200)
  await ask('POST', `/v1/tenants/${own.tenantId}/embed_tokens/revoke`, { token: own.live })
  await assertRefused(old, 'of the epoch before')
  assert.equal((await session(await mintToken(harness, own))).status, 200)
})

test('the next request fails once the tenant, or the project, is deleted; a sibling’s goes on', async () => {
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

test('the next request from a page fails once its origin is no longer registered', async () => {
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

test('a token whose workspace, tenant and project do not belong together is nobody’s, though the signature is ours', async () => {
  const other = await makeVendor(harness)
  for (const mixed of [
    { workspaceId: other.workspaceId },
    { tenantId: other.tenantId },
    { projectId: other.projectId },
  ])
    await assertRefused(await signToken(harness, { ...vendor, ...mixed }), JSON.stringify(mixed))
})
