import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { explainedRefusals } from '@keyrail/contract/vendor/explain'
import { mintToken } from '../../test/embed.ts'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { issueKey, makeProject, makeSecretKey, makeTenant, makeVendor } from '../../test/vendor.ts'
import { monthly, openVerify } from '../../test/verifying.ts'
import { identifiedAMinute } from '../keys/turns.ts'
import { drawToken } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask, query, clock, logged } = harness
const vendor = await makeVendor(harness)
const { live } = vendor
const { codeOf } = openVerify(harness, vendor)
const feed = askFeed(harness)

const explain = async (id: string, more = '', token = live) =>
  (await ask('GET', `/v1/keys/${id}/explain${more}`, { token })).body
const explainText = (key: unknown, more: Record<string, unknown> = {}, token = live) =>
  ask('POST', '/v1/keys/explain', { token, body: { key, ...more } })
const post = (id: string, verb: string, body = {}) =>
  ask('POST', `/v1/keys/${id}/${verb}`, { token: live, body })
/** The detail of the reason that applies first. */
const whyOf = ({ reasons }: { reasons: { applies: boolean; detail: string }[] }) =>
  reasons.find(({ applies }) => applies)?.detail

test('an accepted key has its facts, each reason that does not apply, and what is left', async () => {
  const tenant = await makeTenant(harness, vendor, { name: 'Acme' })
  const made = await issueKey(harness, vendor, {
    tenant_id: tenant.id,
    scopes: ['read'],
    rate_limits: [monthly(5)],
  })
  assert.equal(await codeOf(made.key, { cost: 2 }), 'valid')
  const body = await explain(made.id, '?scopes=read&ip=203.0.113.7')
  assert.deepEqual([body.accepted, body.code], [true, 'valid'])
  assert.deepEqual(body.key, (await ask('GET', `/v1/keys/${made.id}`, { token: live })).body)
  assert.deepEqual(body.tenant, { id: tenant.id, external_id: tenant.external_id, name: 'Acme' })
  assert.equal(body.project.id, vendor.projectId)
  assert.deepEqual(
    body.reasons.map(({ code, applies }: Record<string, unknown>) => [code, applies]),
    explainedRefusals.filter(code => code !== 'malformed_key').map(code => [code, false]),
  )
  assert.deepEqual([body.limits.length, body.limits[0].remaining], [1, 3])
  assert.equal((await explain(made.id)).limits[0].remaining, 3)
})

test('the verdict is that of a verification, whatever the state of the key', async () => {
  const expires_at = '2020-01-01T00:00:00.000Z'
  const states: [string, RegExp, (id: string, tenant: string) => unknown][] = [
    ['valid', /^$/, () => {}],
    [
      'revoked_key',
      /with the reason "leaked in a log"/,
      id => post(id, 'revoke', { reason: 'leaked in a log' }),
    ],
    [
      'disabled_key',
      /by the vendor, with the reason "unpaid"/,
      id => post(id, 'disable', { reason: 'unpaid' }),
    ],
    [
      'suspended_tenant',
      /^The tenant was suspended at .*, with the reason "unpaid", and all of its keys with it\.$/,
      (_, tenant) =>
        ask('POST', `/v1/tenants/${tenant}/suspend`, { token: live, body: { reason: 'unpaid' } }),
    ],
    ['expired_key', /^The key expired at 2020-/, () => {}],
    ['insufficient_scope', /^The key lacks "a\.write"\. It has "a\.read"\.$/, () => {}],
    ['rate_limited', /^A limit is used up: 0 of 1 left in "month"/, () => {}],
  ]
  for (const [code, why, change] of states) {
    const limits = code === 'rate_limited' ? { rate_limits: [monthly(1)] } : {}
    const ends = code === 'expired_key' ? { expires_at } : {}
    const { id: tenant_id } = await makeTenant(harness, vendor)
    const { id, key } = await issueKey(harness, vendor, { tenant_id, scopes: ['a.read'], ...limits, ...ends })
    await change(id, tenant_id)
    if (code === 'rate_limited') await codeOf(key)
    const scopes = code === 'insufficient_scope' ? ['a.read', 'a.write'] : []
    const [byId, byText] = [
      await explain(id, scopes.length === 0 ? '' : `?scopes=${scopes}`),
      (await explainText(key, { scopes })).body,
    ]
    assert.equal(await codeOf(key, { scopes }), code)
    assert.deepEqual([byId.code, byId.accepted, byText.code], [code, code === 'valid', code])
    assert.match(whyOf(byId) ?? '', why)
    const steady = (reasons: object[]) => JSON.stringify(reasons).replaceAll(/ends in \d+ s/g, '')
    assert.equal(steady(byText.reasons.slice(1)), steady(byId.reasons))
  }
})

test('several reasons are all told, and the first is the verdict', async () => {
  const { id } = await issueKey(harness, vendor, { scopes: [] })
  await post(id, 'disable')
  await post(id, 'revoke')
  const { code, reasons } = await explain(id, '?scopes=a')
  assert.equal(code, 'revoked_key')
  const applying = reasons.filter(({ applies }: { applies: boolean }) => applies)
  assert.deepEqual(
    applying.map(({ code }: { code: string }) => code),
    ['revoked_key', 'disabled_key', 'insufficient_scope'],
  )
})

test('a key is judged for another time by when it was made, paused, revoked and expires', async () => {
  const began = clock.now()
  const at = (ms: number) => `?at=${new Date(began + ms).toISOString()}`
  const expires_at = new Date(began + 100_000).toISOString()
  const { id } = await issueKey(harness, vendor, { expires_at, rate_limits: [monthly(1)] })
  clock.advance(10_000)
  await post(id, 'disable')
  clock.advance(10_000)
  await post(id, 'revoke')
  const codes = []
  for (const ms of [-1, 5_000, 15_000, 25_000, 150_000]) codes.push((await explain(id, at(ms))).code)
  assert.deepEqual(codes, ['unknown_key', 'valid', 'disabled_key', 'revoked_key', 'revoked_key'])
  const later = await explain(id, at(150_000))
  assert.equal(later.at, new Date(began + 150_000).toISOString())
  assert.deepEqual(later.limits, [])
  assert.ok(
    later.reasons.some(
      (one: { code: string; applies: boolean }) => one.code === 'expired_key' && one.applies,
    ),
  )
})

test('a text that is no key, or no key of the caller, is told apart by its form alone', async () => {
  const other = await makeVendor(harness)
  const project = await makeProject(harness, vendor)
  const bound = await makeSecretKey(harness, vendor, { project_ids: [project.id] })
  const { key } = await issueKey(harness, vendor)
  const unseen = [
    await explainText(drawToken('kr_live', randomBytes)),
    await explainText((await issueKey(harness, other)).key),
    await explainText(key, {}, bound.key),
    await explainText(key, {}, vendor.test),
  ]
  for (const { status, body } of unseen) {
    assert.equal(status, 200)
    assert.deepEqual({ ...body, at: '' }, { ...unseen[0]?.body, at: '' })
    assert.deepEqual([body.code, body.accepted, body.key, body.nodes], ['unknown_key', false, null, null])
  }
  for (const text of [key.slice(0, -1), ` ${key}`, `${key}\n`, key.toUpperCase(), 'x', 'é'.repeat(16_384)]) {
    const { status, body } = await explainText(text)
    assert.deepEqual([status, body.code, body.key], [200, 'malformed_key', null], text.slice(0, 20))
  }
  const secret = (await explainText(live)).body
  assert.deepEqual([secret.code, secret.key], ['unknown_key', null])
  assert.match(whyOf(secret) ?? '', /^The text is a secret key/)
  assert.ok(!logged.join('').includes(key))
})

test('bad input is named, and the key is in no refusal', async () => {
  const { id, key } = await issueKey(harness, vendor)
  for (const [more, path] of [
    ['?ip=1.2.3', 'ip'],
    ['?ip=203.0.113.7:443', 'ip'],
    ['?ip=[2001:db8::1]', 'ip'],
    ['?ip=%20203.0.113.7', 'ip'],
    ['?at=yesterday', 'at'],
    ['?scopes=', 'scopes.0'],
  ] as const) {
    const { status, body } = await ask('GET', `/v1/keys/${id}/explain${more}`, { token: live })
    assert.deepEqual([status, body.errors[0].path], [400, path])
  }
  for (const [body, path] of [
    [{ key, ip: 'localhost' }, 'ip'],
    [{ key, scope: ['a'] }, 'scope'],
    [{ key: '' }, 'key'],
    [{ key: `${key}${'x'.repeat(16_384)}` }, 'key'],
  ] as const) {
    const heard = await ask('POST', '/v1/keys/explain', { token: live, body })
    assert.deepEqual([heard.status, heard.body.errors[0].path], [400, path])
    assert.ok(!JSON.stringify(heard.body).includes(key))
  }
})

test('nodes that lack the last change of the key are named', async () => {
  const there = await makeVendor(harness)
  const look = async (id: string) => (await explain(id, '', there.live)).nodes
  const { id } = await issueKey(harness, there)
  const { version } = (await feed(there, 'snapshot')).body
  const poll = (node: string, since: number, more = '') =>
    feed(there, 'delta', `&node=${node}&since=${since}&env=live${more}`)
  await poll('a', version)
  await poll('b', version, '&held_keys=9&held_keys_max=10')
  assert.deepEqual(await look(id), { live: 2, current: 2, behind: [], full: 1, version })
  await ask('POST', `/v1/keys/${id}/revoke`, { token: there.live, body: {} })
  await poll('a', version + 1)
  // Another key changes: this one's nodes are as they were.
  await issueKey(harness, there)
  const { behind, ...counts } = await look(id)
  assert.deepEqual(counts, { live: 2, current: 1, full: 1, version: version + 1 })
  const [seen] = await query('select seen_at from policy_nodes where workspace_id = $1 and node = $2', [
    there.workspaceId,
    'b',
  ])
  assert.deepEqual(behind, [{ node: 'b', version, seen_at: seen.seen_at.toISOString() }])
  // A node of test keys holds no live key.
  await feed(there, 'delta', `&node=c&since=${version}&env=test`)
  assert.equal((await look(id)).live, 2)
  await query(`update policy_nodes set seen_at = seen_at - interval '91 seconds' where workspace_id = $1`, [
    there.workspaceId,
  ])
  assert.equal((await look(id)).live, 0)
})

test('a node is not behind for a change that is pruned, nor ahead of a change of its tenant', async () => {
  const there = await makeVendor(harness)
  const look = async (id: string) => (await explain(id, '', there.live)).nodes
  const { id } = await issueKey(harness, there)
  const { version } = (await feed(there, 'snapshot')).body
  await feed(there, 'delta', `&node=a&since=${version}`)
  await query('delete from policy_changes where workspace_id = $1', [there.workspaceId])
  assert.equal((await look(id)).current, 1)
  await ask('PATCH', `/v1/tenants/${there.tenantId}`, { token: there.live, body: { name: 'Renamed' } })
  const { current, behind } = await look(id)
  assert.deepEqual([current, behind.length], [0, 1])
})

test('members explain by id alone, a test credential sees no nodes, an embed token nothing', async () => {
  const { id, key } = await issueKey(harness, vendor, { env: 'test' })
  const member = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'member' })
  assert.equal((await explain(id, '', member.token)).code, 'valid')
  const refused = await explainText(key, {}, member.token)
  assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden'])
  assert.equal((await explainText(key, {}, await mintToken(harness, vendor))).status, 401)
  const byTest = await explain(id, '', vendor.test)
  assert.deepEqual([byTest.code, byTest.nodes], ['valid', null])
})

test('texts to explain and to identify share the turns of a credential', async () => {
  const { key: token } = await makeSecretKey(harness, vendor)
  for (let taken = 0; taken < identifiedAMinute; taken += 2) {
    assert.equal((await explainText('x', {}, token)).status, 200)
    assert.equal((await ask('POST', '/v1/keys/identify', { token, body: { key: 'x' } })).status, 404)
  }
  const { status, body } = await explainText('x', {}, token)
  assert.deepEqual([status, body.code], [429, 'too_many_requests'])
})

test('a parameter that an explanation does not have is refused, and named', async () => {
  const { id } = await issueKey(harness, vendor)
  for (const name of ['scope', 'x', '__proto__', 'constructor']) {
    const { status, body } = await ask('GET', `/v1/keys/${id}/explain?${name}=1`, { token: vendor.live })
    assert.deepEqual([status, body.errors?.[0].path], [400, name])
  }
})
