import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeProject, makeTenant, makeVendor, type Vendor } from '../../test/vendor.ts'
import { updatedAMinute } from '../keys/turns.ts'

const harness = await startHarness()
const { ask, query, clock } = harness
const vendor = await makeVendor(harness)
const token = await mintToken(harness, vendor)

const update = (id: string, body: unknown, by = token) =>
  ask('PATCH', `/v1/embed/keys/${id}`, { token: by, body })
const atVendor = async (id: string) => (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body
const auditOf = (id: string) =>
  query(
    "select actor_type, actor_id, env, payload from audit_logs where target_id = $1 and action = 'api_key.updated' order by seq",
    [id],
  )
const versionOf = async () =>
  (await query('select version from policy_heads where project_id = $1', [vendor.projectId]))[0].version
/** What nothing of a refused request may have touched. */
const writtenOf = async (id: string) => [await atVendor(id), await auditOf(id), await versionOf()]

const day = (n: number) => new Date(Date.UTC(2090, 0, n)).toISOString()

test('a page renames a key and ends it earlier, and the answer hides the vendor’s fields', async () => {
  const key = await issueKey(harness, vendor, { name: 'Old', meta: { plan: 'gold' }, expires_at: day(9) })
  const { status, body } = await update(key.id, { name: 'New', expires_at: day(8) })
  assert.deepEqual([status, body.object, body.name, body.expires_at], [200, 'api_key', 'New', day(8)])
  for (const field of ['key', 'meta', 'tenant_id', 'project_id', 'env']) assert.ok(!(field in body), field)
  const { meta, scopes, rate_limits, name, expires_at } = await atVendor(key.id)
  assert.deepEqual({ meta, scopes, rate_limits }, { meta: key.meta, scopes: key.scopes, rate_limits: null })
  assert.deepEqual([name, expires_at], ['New', day(8)])
  assert.equal((await update(key.id, { name: null })).body.name, null)
  assert.equal((await atVendor(key.id)).expires_at, day(8))
})

test('each change has an audit row of the token and a new version, and no change has neither', async () => {
  const key = await issueKey(harness, vendor, { name: 'Old', expires_at: day(9) })
  const version = await versionOf()
  await update(key.id, { name: 'New', expires_at: day(8) })
  for (const body of [{ name: 'New' }, { expires_at: day(8) }, { name: 'New', expires_at: day(8) }])
    assert.equal((await update(key.id, body)).status, 200)
  assert.equal(Number(await versionOf()), Number(version) + 1)
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const [row, ...more] = await auditOf(key.id)
  assert.deepEqual([row.actor_type, row.actor_id, row.env, more], ['embed_token', jti, 'live', []])
  assert.deepEqual(JSON.parse(row.payload), {
    expires_at: { old: day(9), new: day(8) },
    name: { old: 'Old', new: 'New' },
  })
})

test('a new end reaches the nodes', async () => {
  const key = await issueKey(harness, vendor)
  const path = `project_id=${vendor.projectId}`
  const { body: before } = await ask('GET', `/v1/policy/snapshot?${path}`, { token: vendor.live })
  await update(key.id, { expires_at: day(3) })
  const { body: delta } = await ask('GET', `/v1/policy/delta?${path}&since=${before.version}`, {
    token: vendor.live,
  })
  assert.deepEqual(
    delta.changes.map((one: Record<string, unknown>) => [one.change, one.key_id, one.expires_at]),
    [['upsert', key.id, day(3)]],
  )
})

test('an end only comes earlier: a later one and none at all are refused and write nothing', async () => {
  const key = await issueKey(harness, vendor, { name: 'Kept', expires_at: day(9) })
  const before = await writtenOf(key.id)
  for (const expires_at of [new Date(Date.parse(day(9)) + 1).toISOString(), day(10), null]) {
    const { status, body } = await update(key.id, { name: 'Not written', expires_at })
    assert.deepEqual(
      [status, body.code, body.errors],
      [400, 'validation_failed', [{ path: 'expires_at', message: 'must not be later than it is now' }]],
    )
  }
  assert.deepEqual(await writtenOf(key.id), before)
})

test('a key without an end may keep none or get one, which then only comes earlier', async () => {
  const { id } = await issueKey(harness, vendor)
  assert.deepEqual((await update(id, { expires_at: null })).body.expires_at, null)
  assert.deepEqual((await update(id, { expires_at: day(5) })).body.expires_at, day(5))
  assert.equal((await update(id, { expires_at: null })).status, 400)
  assert.equal((await update(id, { expires_at: day(6) })).status, 400)
  assert.deepEqual((await update(id, { expires_at: '2090-01-04T01:00:00+01:00' })).body.expires_at, day(4))
  const past = '2020-01-01T00:00:00.000Z'
  assert.equal((await update(id, { expires_at: past })).body.expires_at, past)
  // An expired key keeps its end and may be named.
  assert.equal((await update(id, { expires_at: day(2) })).status, 400)
  assert.equal((await update(id, { name: 'Ended' })).body.name, 'Ended')
})

test('the overlap of a rotation is not lived beyond, and may end earlier', async () => {
  const { id } = await issueKey(harness, vendor, { expires_at: day(9) })
  const rotated = await ask('POST', `/v1/embed/keys/${id}/rotate`, { token, body: { overlap_hours: 48 } })
  const end = Date.parse(rotated.body.predecessor.expires_at)
  for (const expires_at of [new Date(end + 1).toISOString(), day(9), null]) {
    const { status, body } = await update(id, { expires_at })
    assert.deepEqual([status, body.errors?.[0].path], [400, 'expires_at'])
  }
  const earlier = new Date(end - 3_600_000).toISOString()
  assert.equal((await update(id, { expires_at: earlier })).body.expires_at, earlier)
  assert.equal((await update(id, { expires_at: new Date(end).toISOString() })).status, 400)
  assert.equal((await atVendor(rotated.body.id)).expires_at, day(9))
})

test('bad input is refused with its path and writes nothing', async () => {
  const { id } = await issueKey(harness, vendor, { name: 'Kept' })
  const before = await writtenOf(id)
  const faults: [body: unknown, path: string][] = [
    [{}, 'body'],
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ expires_at: '2090-02-30T00:00:00Z' }, 'expires_at'],
    [{ expires_at: 1 }, 'expires_at'],
    [{ name: 'New', expires_at: '' }, 'expires_at'],
    ...['scopes', 'meta', 'rate_limits', 'tenant_id', 'project_id', 'env', 'revoked_at'].map(
      (field): [unknown, string] => [{ name: 'New', [field]: null }, field],
    ),
  ]
  for (const [sent, path] of faults) {
    const { status, body } = await update(id, sent)
    const said = JSON.stringify(sent)
    assert.deepEqual([said, status, body.code, body.errors[0].path], [said, 400, 'validation_failed', path])
  }
  assert.deepEqual(await writtenOf(id), before)
})

test('a body without a field says that it must have one', async () => {
  const { id } = await issueKey(harness, vendor)
  const { body } = await update(id, {})
  assert.deepEqual(body.errors, [{ path: 'body', message: 'must have at least one field' }])
})

test('a key of another tenant, project or environment is missing and stays unchanged', async () => {
  const means = { ask }
  const elsewhere: [Vendor, Record<string, unknown>][] = [
    [vendor, { tenant_id: (await makeTenant(means, vendor)).id }],
    [vendor, { project_id: (await makeProject(means, vendor)).id }],
    [vendor, { env: 'test' }],
    [await makeVendor(harness), {}],
  ]
  const answerOf = async (id: string) => {
    const { status, body } = await update(id, { name: 'Stolen', expires_at: day(1) })
    return { status, body: { ...body, request_id: '' } }
  }
  const missing = await answerOf(randomUUID())
  assert.deepEqual([missing.status, missing.body.code], [404, 'not_found'])
  for (const [of, more] of elsewhere) {
    const { id } = await issueKey(harness, of, { name: 'Theirs', ...more })
    assert.deepEqual(await answerOf(id), missing)
    assert.deepEqual(await query('select name, expires_at from api_keys where id = $1', [id]), [
      { name: 'Theirs', expires_at: null },
    ])
    assert.deepEqual(await auditOf(id), [])
  }
})

test('a revoked key is refused as the vendor’s own change of it is', async () => {
  const { id } = await issueKey(harness, vendor)
  await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  for (const body of [{ name: 'New' }, { expires_at: day(1) }, { expires_at: null }]) {
    const [mine, theirs] = [
      await update(id, body),
      await ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body }),
    ]
    assert.deepEqual([mine.status, mine.body.code], [409, 'key_not_active'])
    assert.deepEqual({ ...mine.body, request_id: '' }, { ...theirs.body, request_id: '' })
  }
})

test('a change needs keys:write, as the session says, and no scope of the key', async () => {
  const { id } = await issueKey(harness, vendor, { scopes: ['admin'] })
  for (const scopes of [[], ['keys:read'], ['key_scope:admin']]) {
    const by = await mintToken(harness, vendor, { scopes })
    const refused = await update(id, { name: 'New' }, by)
    assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_scope'])
    assert.equal((await ask('GET', '/v1/embed/session', { token: by })).body.can.update, false)
  }
  const writer = await mintToken(harness, vendor, { scopes: ['keys:write'] })
  assert.equal((await ask('GET', '/v1/embed/session', { token: writer })).body.can.update, true)
  assert.deepEqual((await update(id, { name: 'New' }, writer)).body.scopes, ['admin'])
})

test('a repeated change answers as before, with an Idempotency-Key too, which is ignored', async () => {
  const { id } = await issueKey(harness, vendor, { expires_at: day(9) })
  const send = (body: unknown) =>
    ask('PATCH', `/v1/embed/keys/${id}`, { token, body, headers: { 'idempotency-key': 'once' } })
  const first = await send({ expires_at: day(8) })
  assert.deepEqual((await send({ expires_at: day(8) })).body, first.body)
  assert.equal((await send({ expires_at: day(7) })).body.expires_at, day(7))
})

test('a tenant changes its keys sixty times a minute, with any number of tokens', async () => {
  const of = await makeVendor(harness)
  const { id } = await issueKey(harness, of)
  const tokens = [await mintToken(harness, of), await mintToken(harness, of)]
  const rename = (n: number) => update(id, { name: `Name ${n}` }, tokens[n % 2])
  for (let n = 0; n < updatedAMinute; n += 1) assert.equal((await rename(n)).status, 200)
  const refused = await rename(updatedAMinute)
  assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_requests'])
  const wait = Number(refused.headers['retry-after'])
  assert.ok(wait >= 1 && wait <= 60, `${wait}`)
  // A leak is stopped at once.
  const leaked = await issueKey(harness, of)
  const revoked = await ask('POST', `/v1/embed/keys/${leaked.id}/revoke`, { token: tokens[0] as string })
  assert.equal(revoked.status, 200)
  const sibling = { ...of, tenantId: (await makeTenant({ ask }, of)).id }
  const theirs = await issueKey(harness, sibling)
  assert.equal((await update(theirs.id, { name: 'New' }, await mintToken(harness, sibling))).status, 200)
  clock.skip(wait * 1_000)
  assert.equal((await rename(updatedAMinute)).status, 200)
})
