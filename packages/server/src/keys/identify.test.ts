import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { openStatementWork } from '../../test/statement-work.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor, type Vendor } from '../../test/vendor.ts'
import { drawToken, tokenDigest } from '../platform/crypto/token.ts'
import { findKeyByDigestStatement } from './sql.ts'
import { identifiedAMinute } from './turns.ts'

const harness = await startHarness()
const { ask, query, clock, logged } = harness
const vendor = await makeVendor(harness)

const identify = (key: unknown, token = vendor.live) =>
  ask('POST', '/v1/keys/identify', { token, body: { key } })

const another = async (of: Vendor) => (await makeSecretKey(harness, of)).key

test('a key is found by itself, whatever its status, as by its id', async () => {
  const made = await issueKey(harness, vendor, { name: 'sent to support' })
  const expired = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  const revoked = await issueKey(harness, vendor, { env: 'test' })
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: vendor.live })
  for (const { id, key } of [made, expired, revoked]) {
    const { status, body } = await identify(key)
    assert.equal(status, 200)
    assert.deepEqual(body, (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body)
    assert.ok(!JSON.stringify(body).includes(key.slice(-6)))
  }
})

test('neither a member nor an embed token can identify a key', async () => {
  const { key } = await issueKey(harness, vendor)
  const member = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'member' })
  const refused = await identify(key, member.token)
  assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden'])
  assert.equal((await identify(key, await mintToken(harness, vendor))).status, 401)
})

test('a malformed, unknown, foreign or unseen key gets the same 404', async () => {
  const other = await makeVendor(harness)
  const project = await makeProject(harness, vendor)
  const bound = await makeSecretKey(harness, vendor, { project_ids: [project.id] })
  const { key } = await issueKey(harness, vendor)
  const heard = [
    await identify('x'),
    await identify(' '),
    await identify('\u{1F600}'.repeat(512)),
    await identify(`${key} `),
    await identify(key.slice(0, -1)),
    await identify(key.toUpperCase()),
    await identify(drawToken('kr_live', randomBytes)),
    await identify((await issueKey(harness, other)).key),
    await identify(key, vendor.test),
    await identify(key, bound.key),
    // The credentials of the vendor and its people are not keys.
    await identify(vendor.live),
    await identify(tokenDigest(key).toString('hex')),
  ]
  for (const { status, headers, body } of heard) {
    assert.deepEqual([status, body.code], [404, 'not_found'])
    assert.deepEqual({ ...body, request_id: '' }, { ...heard[0]?.body, request_id: '' })
    assert.deepEqual(Object.keys(headers), Object.keys(heard[0]?.headers ?? {}))
  }
})

test('only a text of 1 to 512 characters is looked up, and a refusal does not repeat it', async () => {
  const token = await another(vendor)
  const secret = drawToken('kr_live', randomBytes)
  for (const key of ['', `${secret}${'x'.repeat(512)}`, [secret], { key: secret }, 5, null]) {
    const { status, body } = await identify(key, token)
    assert.deepEqual([status, body.errors[0].path], [400, 'key'])
    assert.ok(!JSON.stringify(body).includes(secret))
  }
  const { status, body } = await ask('POST', '/v1/keys/identify', { token, body: { key: secret, id: 'x' } })
  assert.deepEqual([status, body.errors[0].path], [400, 'id'])
})

test('identifying writes nothing, and no log line has the key', async () => {
  const { key } = await issueKey(harness, vendor)
  const count = async () =>
    (
      await query('select (select count(*) from audit_logs) as rows, (select sum(version) from policy_heads)')
    )[0]
  const before = await count()
  await identify(key)
  await identify(drawToken('kr_live', randomBytes))
  assert.deepEqual(await count(), before)
  assert.ok(!logged.join('').includes(key))
})

test('a credential identifies 60 keys a minute, and every other one as many', async () => {
  const { key } = await issueKey(harness, vendor)
  const [busy, calm] = [await another(vendor), await another(vendor)]
  const statuses = async (token: string, count: number) => {
    const heard = []
    for (let i = 0; i < count; i += 1) heard.push(await identify(i % 2 === 0 ? key : 'unknown', token))
    return heard
  }
  assert.ok((await statuses(busy, identifiedAMinute)).every(({ status }) => status === 200 || status === 404))
  const [refused] = await statuses(busy, 1)
  assert.deepEqual([refused?.status, refused?.body.code], [429, 'too_many_requests'])
  const wait = Number(refused?.headers['retry-after'])
  assert.ok(wait >= 1 && wait <= 60, `${wait}`)
  assert.equal((await identify(key, calm)).status, 200)
  clock.skip(wait * 1_000)
  assert.equal((await identify(key, busy)).status, 200)
})

test('a key among 100,000 is found by index', async () => {
  const { workspaceId, projectId, tenantId } = await makeVendor(harness)
  await query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, created_at, updated_at)
     select $1, gen_random_uuid(), $2, $3, 'live', 'kr_live_abcd', sha256(n::text::bytea), now(), now()
     from generate_series(1, 100000) n`,
    [workspaceId, projectId, tenantId],
  )
  await query('analyze api_keys')
  const readRows = await openStatementWork(harness)
  for (const mode of ['custom', 'generic'] as const) {
    const digest = tokenDigest('5000')
    const values = [workspaceId, digest, ['live', 'test'], null]
    const { rows, indexes, plan } = await readRows(workspaceId, mode, findKeyByDigestStatement, values)
    assert.equal(rows, 1, plan)
    assert.deepEqual(indexes, ['api_keys_lookup_hash_unique'], plan)
  }
})
