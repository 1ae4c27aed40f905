import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { dump } from './dump.ts'
import { type Ask, bootstrapToken, type Heard, startHarness } from './harness.ts'
import { nameOf, type Sample, sampleOf } from './samples.ts'
import { makeSecretKey, makeVendor, uniqueSlug } from './vendor.ts'

/** What an `Idempotency-Key` promises on every route that accepts one, and that other routes ignore it. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const replayable = routes.filter(route => route.replayable)

const send = (
  { method }: Route,
  { url, token, body, signed }: Sample,
  key: string | null,
  more: Partial<Ask> = {},
) =>
  ask(method, url, {
    ...(token && { token }),
    ...(body !== undefined && { body }),
    ...(signed !== undefined && { body: signed.body }),
    headers: { ...signed?.headers, ...(key !== null && { 'idempotency-key': key }) },
    ...more,
  })

/** A response without the values that are shown once. */
function withoutSecrets(body: Heard['body']): Heard['body'] {
  const { key: _, token: __, secret_key, ...rest } = body
  return { ...rest, ...(secret_key !== undefined && { secret_key: withoutSecrets(secret_key) }) }
}

/** As valid as the body of the sample, but different. */
function anotherBody({ path }: Route, { body }: Sample): Record<string, unknown> {
  if (/keys\/(?:revoke|disable|enable)$/.test(path)) return { ids: [randomUUID()] }
  if (path.endsWith('/import')) return { ...body, dry_run: true }
  if (path.endsWith('/rotate')) return { overlap_hours: 1 }
  return path === '/v1/invites' ? { ...body, role: 'owner' } : { ...body, name: 'another' }
}

test('creates, rotations and calls for many keys take an Idempotency-Key, not from browsers', () => {
  const expected = routes.filter(
    ({ method, path }) =>
      method === 'POST' &&
      /\/v1\/[a-z_]+$|\/rotate$|\/v1\/keys\/(?:revoke|disable|enable|import)$/.test(path) &&
      !path.startsWith('/v1/embed'),
  )
  assert.deepEqual(replayable.map(nameOf), expected.map(nameOf))
})

for (const route of replayable) {
  test(`${nameOf(route)} repeats its response without the secret, and executes once`, async () => {
    const key = randomUUID()
    const sample = await sampleOf(route, harness, vendor)
    const first = await send(route, sample, key)
    assert.deepEqual([first.status, first.headers['idempotent-replayed']], [route.answer.status, undefined])
    const before = await dump(query)
    for (let i = 0; i < 2; i++) {
      const again = await send(route, sample, key)
      assert.deepEqual([again.status, again.headers['idempotent-replayed']], [first.status, 'true'])
      assert.deepEqual(again.body, withoutSecrets(first.body))
    }
    assert.deepEqual(await dump(query), before)
  })

  test(`${nameOf(route)} refuses another body or URL under the same key`, async () => {
    const key = randomUUID()
    const sample = await sampleOf(route, harness, vendor)
    assert.equal((await send(route, sample, key)).status, route.answer.status)
    const before = await dump(query)
    const refused = await send(route, { ...sample, body: anotherBody(route, sample) }, key)
    assert.deepEqual([refused.status, refused.body.code], [409, 'idempotency_key_reused'])
    const elsewhere = await send(route, { ...sample, url: `${sample.url}?x=1` }, key)
    assert.deepEqual([elsewhere.status, elsewhere.body.code], [409, 'idempotency_key_reused'])
    assert.deepEqual(await dump(query), before)
    const reordered = Object.fromEntries(Object.entries(sample.body ?? {}).toReversed())
    assert.equal(
      (await send(route, { ...sample, body: reordered }, key)).headers['idempotent-replayed'],
      'true',
    )
  })

  test(`${nameOf(route)} executes one of the simultaneous requests under one key`, async () => {
    const key = randomUUID()
    const sample = await sampleOf(route, harness, vendor)
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(route, sample, key)))
    const [executed, ...more] = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)
    assert.ok(executed !== undefined && more.length === 0, 'not exactly one request executed')
    for (const { status, body } of answers) {
      assert.deepEqual([status, withoutSecrets(body)], [route.answer.status, withoutSecrets(executed.body)])
    }
  })

  test(`${nameOf(route)} executes again after 24 hours, and not before`, async () => {
    const key = randomUUID()
    const sample = await sampleOf(route, harness, vendor)
    const first = await send(route, sample, key)
    const [{ at }] = await query('select created_at as at from replays where key = $1', [key])
    const dayMs = 86_400_000
    try {
      await harness.setStoreTime(new Date(at.getTime() + dayMs))
      assert.deepEqual((await send(route, sample, key)).body, withoutSecrets(first.body))
      await harness.setStoreTime(new Date(at.getTime() + dayMs + 1))
      const again = await send(route, await sampleOf(route, harness, vendor), key)
      assert.equal(again.status, route.answer.status)
      assert.equal(again.headers['idempotent-replayed'], undefined)
      assert.notDeepEqual(again.body, first.body)
    } finally {
      await harness.setStoreTime(null)
    }
  })

  test(`${nameOf(route)} stores the response and the mutation together, or neither`, async () => {
    const key = randomUUID()
    const sample = await sampleOf(route, harness, vendor)
    await query(
      `create function refuse_audit() returns trigger language plpgsql as $$ begin raise 'no' using errcode = 'KR999'; end $$`,
    )
    await query(
      'create trigger refuse_audit before insert on audit_logs for each row execute function refuse_audit()',
    )
    const before = await dump(query)
    try {
      assert.equal((await send(route, sample, key)).status, 500)
    } finally {
      await query('drop trigger refuse_audit on audit_logs')
      await query('drop function refuse_audit()')
    }
    assert.deepEqual(await dump(query), before)
    const second = await send(route, sample, key)
    assert.deepEqual([second.status, second.headers['idempotent-replayed']], [route.answer.status, undefined])
  })
}

test('one caller’s Idempotency-Key is unknown to others, even in the same workspace', async () => {
  const key = randomUUID()
  const second = await makeSecretKey(harness, vendor)
  const foreign = await makeVendor(harness)
  const ids = new Set<string>()
  for (const token of [vendor.live, second.key, foreign.live]) {
    const { status, headers, body } = await ask('POST', '/v1/tenants', {
      token,
      body: { external_id: uniqueSlug() },
      headers: { 'idempotency-key': key },
    })
    assert.deepEqual([status, headers['idempotent-replayed']], [201, undefined])
    ids.add(body.id)
  }
  assert.equal(ids.size, 3)
})

test('a refusal is not stored: the same request succeeds once its obstacle is gone', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const slug = uniqueSlug()
  const create = () => ask('POST', '/v1/projects', { token: vendor.live, headers, body: { name: 'n', slug } })
  const taken = await ask('POST', '/v1/projects', { token: vendor.live, body: { name: 'n', slug } })
  assert.equal((await create()).body.code, 'slug_taken')
  assert.deepEqual(await query('select from replays where key = $1', [headers['idempotency-key']]), [])
  await ask('DELETE', `/v1/projects/${taken.body.id}`, { token: vendor.live })
  const created = await create()
  assert.deepEqual([created.status, created.headers['idempotent-replayed']], [201, undefined])

  const missing = { 'idempotency-key': randomUUID() }
  const rotate = (id: string) =>
    ask('POST', `/v1/keys/${id}/rotate`, { token: vendor.live, headers: missing })
  assert.equal((await rotate(randomUUID())).status, 404)
  const key = await sampleOf(
    routes.find(({ operation }) => operation === 'rotateKey') as Route,
    harness,
    vendor,
  )
  assert.equal((await rotate(key.url.split('/')[3] ?? '')).status, 200)
})

test('a refused workspace leaves the bootstrap token’s Idempotency-Key free', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const slug = uniqueSlug()
  const create = (name: string) =>
    ask('POST', '/v1/workspaces', { token: bootstrapToken, body: { name, slug }, headers })
  const blocker = await ask('POST', '/v1/workspaces', { token: bootstrapToken, body: { name: 'n', slug } })
  assert.equal((await create('n')).body.code, 'slug_taken')
  await query('delete from workspace_slugs where workspace_id = $1', [blocker.body.id])
  assert.equal((await create('n')).status, 201)
  assert.equal((await create('m')).body.code, 'idempotency_key_reused')
})

test('a replay repeats the first response even if the resource has changed since', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { name: 'old', slug: uniqueSlug() }
  const create = () => ask('POST', '/v1/projects', { token: vendor.live, body, headers })
  const first = await create()
  await ask('PATCH', `/v1/projects/${first.body.id}`, { token: vendor.live, body: { name: 'new' } })
  await ask('DELETE', `/v1/projects/${first.body.id}`, { token: vendor.live })
  assert.deepEqual((await create()).body, first.body)
})

test('records older than 24 hours are removed by the next request of their workspace', async () => {
  const [one, two] = [await makeVendor(harness), await makeVendor(harness)]
  const create = ({ live }: typeof one) =>
    ask('POST', '/v1/tenants', {
      token: live,
      body: { external_id: uniqueSlug() },
      headers: { 'idempotency-key': randomUUID() },
    })
  const countOf = async ({ workspaceId }: typeof one) =>
    (await query('select count(*) as kept from replays where workspace_id = $1', [workspaceId]))[0].kept
  await Promise.all([create(one), create(one), create(two)])
  await query(
    `update replays set created_at = created_at - interval '25 hours' where workspace_id = any($1)`,
    [[one.workspaceId, two.workspaceId]],
  )
  await create(one)
  assert.deepEqual([await countOf(one), await countOf(two)], [1, 1])
})

for (const route of routes.filter(({ method, replayable }) => method !== 'GET' && !replayable)) {
  test(`${nameOf(route)} ignores an Idempotency-Key, even a malformed one`, async () => {
    for (const key of [randomUUID(), '', 'é'.repeat(300)]) {
      const sample = await sampleOf(route, harness, vendor)
      const { status, headers } = await send(route, sample, key)
      assert.deepEqual([status, headers['idempotent-replayed']], [route.answer.status, undefined])
      assert.deepEqual(await query('select from replays where key = $1', [key]), [])
    }
  })
}
