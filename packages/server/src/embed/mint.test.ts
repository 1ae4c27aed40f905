import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { dump } from '../../test/dump.ts'
import { mintToken, setOrigins } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)

const session = (by: string) => ask('GET', '/v1/embed/session', { token: by })
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

test('the times of a token come from the database clock', async () => {
  try {
    await harness.setStoreTime(new Date('2031-05-06T07:08:09.876Z'))
    const minted = claimsOf(await mintToken(harness, vendor))
    assert.equal(minted.iat, Date.parse('2031-05-06T07:08:09Z') / 1_000)
  } finally {
    await harness.setStoreTime(null)
  }
})

test('minting is refused with any Origin header and for sessions', async () => {
  await setOrigins(harness, vendor, ['https://app.example.com'])
  const body = { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' }
  for (const origin of ['https://app.example.com', 'null', '', harness.deps.config.publicUrl]) {
    const heard = await ask('POST', '/v1/embed_tokens', { token: vendor.live, body, headers: { origin } })
    assert.deepEqual([heard.status, heard.body.code], [403, 'origin_not_allowed'], origin)
    assert.equal(heard.headers['access-control-allow-origin'], undefined)
    const malformed = await ask('POST', '/v1/embed_tokens', {
      token: vendor.live,
      body: {},
      headers: { origin },
    })
    assert.equal(malformed.body.code, 'origin_not_allowed')
  }
})

test('minting writes nothing', async () => {
  const before = await dump(query)
  await mintToken(harness, vendor)
  assert.deepEqual(await dump(query), before)
})

test('a test key mints tokens for test only', async () => {
  const body = { project_id: vendor.projectId, tenant_id: vendor.tenantId }
  const live = await ask('POST', '/v1/embed_tokens', { token: vendor.test, body: { ...body, env: 'live' } })
  assert.deepEqual([live.status, live.body.code], [403, 'env_mismatch'])
  const minted = await ask('POST', '/v1/embed_tokens', { token: vendor.test, body: { ...body, env: 'test' } })
  assert.equal(minted.status, 201)
  assert.equal((await session(minted.body.token)).body.env, 'test')
})

test('origins of a token must be registered, in any spelling', async () => {
  await setOrigins(harness, vendor, [
    'https://App.example.com',
    'http://localhost:3000',
    'https://b.example.com:443',
  ])
  const mint = (origins: string[]) =>
    ask('POST', '/v1/embed_tokens', {
      token: vendor.live,
      body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', origins },
    })
  const taken = await mint(['https://APP.example.com:443', 'https://b.example.com'])
  assert.equal(taken.status, 201)
  assert.deepEqual(claimsOf(taken.body.token).org, ['https://app.example.com', 'https://b.example.com'])
  for (const origin of [
    'http://app.example.com',
    'https://app.example.com:444',
    'https://app.example.com/',
    'https://evil.example.com',
    'https://app.example.com.evil.com',
    'https://example.com',
    'http://localhost',
    'null',
    '*',
    'app.example.com',
  ]) {
    const { status, body } = await mint(['http://localhost:3000', origin])
    assert.deepEqual([status, body.errors?.[0].path], [400, 'origins.1'], origin)
  }
  assert.deepEqual((await mint([])).body.origins, [])
})

test('a token without scopes can only read', async () => {
  const { projectId: project_id, tenantId: tenant_id } = vendor
  const { body } = await ask('POST', '/v1/embed_tokens', {
    token: vendor.live,
    body: { project_id, tenant_id, env: 'live' },
  })
  assert.deepEqual(body.scopes, ['keys:read'])
  assert.deepEqual((await ask('GET', '/v1/embed/session', { token: body.token })).body.can, {
    read: true,
    write: false,
    update: false,
    pause: false,
    network: false,
    tenant_network: false,
    key_scopes: [],
  })
})

test('a token with the most scopes of a key fits into a header', async () => {
  const { projectId: project_id, tenantId: tenant_id } = vendor
  const mint = (scopes: string[]) =>
    ask('POST', '/v1/embed_tokens', {
      token: vendor.live,
      body: { project_id, tenant_id, env: 'live', scopes },
    })
  const plain = Array.from({ length: 32 }, (_, i) => `key_scope:${String(i).padStart(210, 'x')}`)
  const { status, body } = await mint(plain)
  assert.equal(status, 201)
  assert.equal((await ask('GET', '/v1/embed/session', { token: body.token })).body.can.key_scopes.length, 32)
  const wide = await mint(plain.map(scope => scope.replaceAll('x', '\u{1F600}')))
  assert.deepEqual([wide.status, wide.body.errors[0].path], [400, 'scopes'])
})

test('a token that is too long is refused, naming its origins or its scopes', async () => {
  const { projectId: project_id, tenantId: tenant_id } = vendor
  const mint = (more: Record<string, unknown>) =>
    ask('POST', '/v1/embed_tokens', {
      token: vendor.live,
      body: { project_id, tenant_id, env: 'live', ...more },
    })
  const origins = Array.from({ length: 20 }, (_, i) => `https://${String(i).padStart(240, 'a')}`)
  await setOrigins(harness, vendor, origins)
  const long = Array.from({ length: 32 }, (_, i) => `key_scope:${String(i).padStart(210, 'x')}`)
  const longer = long.map(scope => scope.replaceAll('x', '\u{1F600}'))
  for (const given of [{ scopes: long }, { origins }])
    assert.deepEqual([Object.keys(given), (await mint(given)).status], [Object.keys(given), 201])
  for (const [given, path] of [
    [{ scopes: long, origins }, 'origins'],
    [{ scopes: longer, origins }, 'scopes'],
    [{ scopes: longer }, 'scopes'],
    [{ scopes: long, origins, tenant_id: randomUUID() }, 'origins'],
    [{ scopes: longer, project_id: randomUUID() }, 'scopes'],
    [{ origins: ['https://elsewhere.example'], tenant_id: randomUUID() }, 'origins.0'],
  ] as const) {
    const { status, body } = await mint(given)
    assert.deepEqual([status, body.errors?.[0].path], [400, path])
  }
  const nowhere = await mint({ scopes: long, tenant_id: randomUUID() })
  assert.deepEqual([nowhere.status, nowhere.body.code], [404, 'not_found'])
})

test('the length of a token is known before it is signed', async () => {
  const { embedTokens, makeId } = harness.deps
  const { workspaceId, projectId, tenantId, liveId: mintedBy } = vendor
  for (let characters = 0; characters < 8; characters++) {
    const claims = {
      ...{ id: makeId(), workspaceId, projectId, tenantId, mintedBy, env: 'live' as const },
      epoch: 10 ** characters,
      scopes: [`key_scope:"é\u{1F600}${'x'.repeat(characters)}`],
      origins: characters % 2 === 0 ? null : ['https://app.example.com'],
      ...{ issuedAt: 1_900_000_000, expiresAt: 1_900_000_300 },
    }
    assert.equal(await embedTokens.lengthOf(claims), (await embedTokens.mint(claims)).length)
  }
})

test('an embed scope has one of three forms', async () => {
  const { projectId: project_id, tenantId: tenant_id } = vendor
  for (const scope of [
    'keys',
    'keys:',
    'keys:admin',
    'KEYS:READ',
    'key_scope:',
    'key_scope',
    ' keys:read',
    'keys:read ',
  ]) {
    const { status, body } = await ask('POST', '/v1/embed_tokens', {
      token: vendor.live,
      body: { project_id, tenant_id, env: 'live', scopes: ['keys:read', scope] },
    })
    assert.deepEqual([status, body.errors?.[0].path], [400, 'scopes.1'], scope)
  }
})
