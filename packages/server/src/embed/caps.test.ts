import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { buildApp } from '../app.ts'
import { openDeps } from '../deps.ts'

const most = 5
const harness = await startHarness({ embedMaxActiveKeys: most })
const { ask, query } = harness

const create = (token: string) => ask('POST', '/v1/embed/keys', { token })
const rotate = (token: string, id: string, body = {}) =>
  ask('POST', `/v1/embed/keys/${id}/rotate`, { token, body })
const codesOf = (answers: { status: number; body: { code?: string } }[]) =>
  answers.map(({ status, body }) => (status < 300 ? status : body.code)).toSorted()

/** Moves the keys of a tenant a minute into the past. */
const passMinute = (tenantId: string) =>
  query(`update api_keys set embedded_at = embedded_at - interval '60 seconds' where tenant_id = $1`, [
    tenantId,
  ])

test('concurrent creations succeed exactly up to the cap', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  const answers = await Promise.all(Array.from({ length: most + 4 }, () => create(token)))
  assert.deepEqual(codesOf(answers), [
    ...Array.from({ length: most }, () => 201),
    ...Array.from({ length: 4 }, () => 'key_limit_reached'),
  ])
})

test('concurrent creations and rotations together do not exceed the cap', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  const made = [await create(token), await create(token), await create(token)].map(({ body }) => body.id)
  const answers = await Promise.all([...made.map(id => rotate(token, id)), create(token), create(token)])
  assert.equal(answers.filter(({ status }) => status < 300).length, most - made.length)
  const [{ active }] = await query(
    'select count(*) as active from api_keys where tenant_id = $1 and (expires_at is null or expires_at > service_now())',
    [vendor.tenantId],
  )
  assert.equal(active, most)
})

test('the cap counts keys made with embed tokens, by tenant, project and environment', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  for (let i = 0; i < most; i++) await issueKey(harness, vendor)
  for (let i = 0; i < most; i++) assert.equal((await create(token)).status, 201)
  assert.equal((await create(token)).body.code, 'key_limit_reached')
  assert.ok(await issueKey(harness, vendor), 'the vendor has a separate cap')
  const { body: project } = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'n', slug: uniqueSlug() },
  })
  const { body: tenant } = await ask('POST', '/v1/tenants', {
    token: vendor.live,
    body: { external_id: uniqueSlug() },
  })
  for (const [of, env] of [
    [vendor, 'test'],
    [{ ...vendor, projectId: project.id }, 'live'],
    [{ ...vendor, tenantId: tenant.id }, 'live'],
  ] as const)
    assert.equal((await create(await mintToken(harness, of, { env }))).status, 201)
})

test('revoked and expired keys make room, and a rotation without overlap needs none', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  const made: string[] = []
  for (let i = 0; i < most; i++) made.push((await create(token)).body.id)
  const [first = '', second = '', third = ''] = made
  assert.equal((await rotate(token, first)).body.code, 'key_limit_reached')
  const swapped = await rotate(token, first, { overlap_hours: 0 })
  assert.equal(swapped.status, 200)
  const byVendor = await issueKey(harness, vendor)
  const added = await rotate(token, byVendor.id, { overlap_hours: 0 })
  assert.equal(added.body.code, 'key_limit_reached', 'the vendor’s key was not one of these')
  await ask('POST', `/v1/embed/keys/${second}/revoke`, { token })
  assert.equal((await create(token)).status, 201)
  assert.equal((await create(token)).body.code, 'key_limit_reached')
  await ask('PATCH', `/v1/keys/${third}`, {
    token: vendor.live,
    body: { expires_at: '2020-01-01T00:00:00Z' },
  })
  assert.equal((await create(token)).status, 201)
})

test('a successor issued by the vendor does not count towards the embed cap', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  const made: string[] = []
  for (let i = 0; i < most; i++) made.push((await create(token)).body.id)
  await ask('POST', `/v1/keys/${made[0]}/rotate`, { token: vendor.live, body: { overlap_hours: 0 } })
  assert.equal((await create(token)).status, 201)
})

test('a tenant can make sixty keys a minute in all projects, then gets Retry-After', async () => {
  const vendor = await makeVendor(harness)
  const { body: project } = await ask('POST', '/v1/projects', {
    token: vendor.live,
    body: { name: 'n', slug: uniqueSlug() },
  })
  const tokens = [
    await mintToken(harness, vendor),
    await mintToken(harness, { ...vendor, projectId: project.id }),
  ]
  const ids = await Promise.all(tokens.map(async token => (await create(token)).body.id as string))
  let made = ids.length
  for (; made < 60; made++) {
    const i = made % 2
    const { status, body } = await rotate(tokens[i] as string, ids[i] as string, { overlap_hours: 0 })
    assert.equal(status, 200, JSON.stringify(body))
    ids[i] = body.id
  }
  for (const token of tokens) {
    const [created, rotated] = [await create(token), await rotate(token, ids[tokens.indexOf(token)] ?? '')]
    for (const { status, body, headers } of [created, rotated]) {
      assert.deepEqual([status, body.code], [429, 'too_many_requests'])
      assert.ok(Number(headers['retry-after']) >= 1 && Number(headers['retry-after']) <= 60)
    }
    assert.equal((await ask('GET', '/v1/embed/keys', { token })).status, 200)
  }
  const revoked = await ask('POST', `/v1/embed/keys/${ids[0]}/revoke`, { token: tokens[0] as string })
  assert.equal(revoked.status, 200, 'stopping a leak must not wait')
  assert.ok(await issueKey(harness, vendor))
  await passMinute(vendor.tenantId)
  assert.equal((await create(tokens[0] as string)).status, 201)
})

test('there is room again exactly after Retry-After', async () => {
  const vendor = await makeVendor(harness)
  const token = await mintToken(harness, vendor)
  let { id } = (await create(token)).body
  for (let i = 1; i < 60; i++) id = (await rotate(token, id, { overlap_hours: 0 })).body.id
  const [{ first }] = await query('select min(embedded_at) as first from api_keys where tenant_id = $1', [
    vendor.tenantId,
  ])
  try {
    await harness.setStoreTime(new Date(first.getTime() + 59_999))
    const refused = await create(token)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'])
    await harness.setStoreTime(new Date(first.getTime() + 60_000))
    assert.equal((await create(token)).status, 201)
  } finally {
    await harness.setStoreTime(null)
  }
})

test('two processes share the limits', async () => {
  const { config, log, clock, randomBytes, budgets } = harness.deps
  const deps = await openDeps({ config, log, connection: harness.connection, clock, randomBytes, budgets })
  const app = await buildApp(deps)
  try {
    const vendor = await makeVendor(harness)
    const token = await mintToken(harness, vendor)
    const there = async () => {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await app.inject({ method: 'POST', url: '/v1/embed/keys', headers })
      return { status: answer.statusCode, body: answer.json() }
    }
    const answers = await Promise.all(
      Array.from({ length: 2 * most }, (_, i) => (i % 2 === 0 ? create(token) : there())),
    )
    assert.equal(answers.filter(({ status }) => status === 201).length, most)
  } finally {
    await app.close()
    await deps.close()
  }
})
