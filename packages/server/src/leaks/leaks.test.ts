import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { leakSourceMax, leakUrlMax } from '@keyrail/contract/leaks'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { type Heard, startHarness } from '../../test/harness.ts'
import { makePerson, openSession } from '../../test/people.ts'
import { issueKey, makeVendor, uniqueSlug, type Vendor } from '../../test/vendor.ts'
import { drawToken } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask, query } = harness
const url = 'https://codehost.example/acme/app/blob/main/.env'

const report = (entries: unknown): Promise<Heard> => ask('POST', reportPath, signedReport(entries))
const leak = (token: string) => ({ token, type: 'keyrail_api_key', url, source: 'content' })
const answer = ({ token, type }: { token: string; type: string }, label: string) => ({
  token_hash: hash('sha256', token),
  token_type: type,
  label,
})

/** The audit rows of leaks, oldest first. */
const leaksIn = async ({ live }: Pick<Vendor, 'live'>) => {
  const { body } = await ask('GET', '/v1/audit_logs?limit=200', { token: live })
  const rows: Record<string, unknown>[] = body.data
  return rows
    .filter(({ payload }) => (payload as { reason?: string } | null)?.reason === 'leaked')
    .map(({ action, actor_type, actor_id, target_type, target_id, env, payload }) => {
      return { action, actor_type, actor_id, target_type, target_id, env, payload }
    })
}
const rowOf = (action: string, id: string, env: string | null) => ({
  action,
  actor_type: 'codehost',
  actor_id: null,
  target_type: action.split('.')[0],
  target_id: id,
  env,
  payload: { reason: 'leaked', url, source: 'content' },
})

test('leaked API keys, secret keys and sessions are revoked and audited in any workspace', async () => {
  const [vendor, other] = [await makeVendor(harness), await makeVendor(harness)]
  const project = await ask('POST', '/v1/projects', {
    token: other.live,
    body: { name: 'Own', slug: uniqueSlug('own'), key_prefix: 'acme2026' },
  })
  const key = await issueKey(harness, vendor)
  const test = await issueKey(harness, vendor, { env: 'test' })
  const custom = await issueKey(harness, other, { project_id: project.body.id })
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin' })
  const spared = await openSession(query, person.userId, vendor.workspaceId)
  const entries = [key.key, vendor.test, custom.key, test.key, person.token].map(leak)

  const { status, body } = await report(entries)
  assert.equal(status, 200)
  assert.deepEqual(
    body,
    entries.map(entry => answer(entry, 'true_positive')),
  )
  const shown = (await ask('GET', `/v1/keys/${key.id}`, { token: vendor.live })).body
  assert.deepEqual([shown.revoked_reason, shown.revoked_at !== null], ['leaked', true])
  assert.equal((await ask('GET', '/v1/workspace', { token: vendor.test })).status, 401)
  assert.equal((await ask('GET', '/v1/auth/me', { token: person.token })).status, 401)
  assert.equal((await ask('GET', '/v1/auth/me', { token: spared.token })).status, 200)
  assert.match(custom.key, /^acme2026_live_/)

  const byId = (a: { target_id?: unknown }, b: { target_id?: unknown }) =>
    String(a.target_id) < String(b.target_id) ? -1 : 1
  assert.deepEqual(
    (await leaksIn(vendor)).toSorted(byId),
    [
      rowOf('api_key.revoked', key.id, 'live'),
      rowOf('api_key.revoked', test.id, 'test'),
      rowOf('secret_key.revoked', vendor.testId, 'test'),
      rowOf('session.revoked', person.sessionId, null),
    ].toSorted(byId),
  )
  assert.deepEqual(await leaksIn(other), [rowOf('api_key.revoked', custom.id, 'live')])
  for (const { live } of [vendor, other]) {
    assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: live })).body.valid, true)
  }
})

test('a leaked key is a tombstone in the next delta', async () => {
  const vendor = await makeVendor(harness)
  const key = await issueKey(harness, vendor)
  const feed = `/v1/policy/delta?project_id=${vendor.projectId}&since=`
  const { body: before } = await ask('GET', `${feed}1`, { token: vendor.live })
  await report([leak(key.key)])
  const { body: after } = await ask('GET', `${feed}${before.version}`, { token: vendor.live })
  assert.ok(after.version > before.version)
  assert.ok(JSON.stringify(after).includes(key.id), JSON.stringify(after))
})

test('the session of a person without a workspace ends without an audit row', async () => {
  const vendor = await makeVendor(harness)
  const nowhere = await makePerson(query)
  const removed = await makePerson(query, { workspaceId: vendor.workspaceId })
  await query('update workspace_members set removed_at = service_now() where user_id = $1', [removed.userId])
  const { body } = await report([leak(nowhere.token), leak(removed.token)])
  assert.deepEqual(
    body.map(({ label }: { label: string }) => label),
    ['true_positive', 'true_positive'],
  )
  for (const { token } of [nowhere, removed])
    assert.equal((await ask('GET', '/v1/auth/me', { token })).status, 401)
  assert.deepEqual(await leaksIn(vendor), [])
})

test('a test credential sees the revocation of a session, but not where it was found', async () => {
  const vendor = await makeVendor(harness)
  const person = await makePerson(query, { workspaceId: vendor.workspaceId })
  await report([leak(person.token)])
  const { body } = await ask('GET', '/v1/audit_logs?limit=200', { token: vendor.test })
  const row = body.data.find(({ action }: { action: string }) => action === 'session.revoked')
  assert.deepEqual([row?.target_id, row?.payload], [person.sessionId, null])
})

test('labels are in the order of the entries; an unknown token is a false positive', async () => {
  const vendor = await makeVendor(harness)
  const { key } = await issueKey(harness, vendor)
  const unknown = drawToken('kr_live', randomBytes)
  const mistyped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
  const entries = [unknown, key, 'some_token', mistyped, '', 'é', key.toUpperCase(), key].map((token, i) => ({
    ...leak(token),
    type: `type ${i}`,
  }))
  const { body } = await report(entries)
  assert.deepEqual(
    body,
    entries.map(entry => answer(entry, entry.token === key ? 'true_positive' : 'false_positive')),
  )
  // Two entries in one report are one revocation.
  assert.equal((await leaksIn(vendor)).length, 1)
})

test('entries without a token are skipped; members that are not strings are ignored', async () => {
  const vendor = await makeVendor(harness)
  const { key, id } = await issueKey(harness, vendor)
  const { status, body } = await report([
    null,
    5,
    'x',
    [],
    {},
    { token: null },
    { token: 5 },
    { token: { token: key } },
    { token: key, type: 5, url: ['x'], source: {}, more: { deep: [1] } },
  ])
  assert.deepEqual([status, body], [200, [answer({ token: key, type: '' }, 'true_positive')]])
  assert.deepEqual(await leaksIn(vendor), [
    { ...rowOf('api_key.revoked', id, 'live'), payload: { reason: 'leaked', url: null, source: null } },
  ])
  assert.deepEqual((await report([])).body, [])
})

test('no token is audited, even inside a url; url and source are cut to their bounds', async () => {
  const vendor = await makeVendor(harness)
  const [one, two, three] = [
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
    await issueKey(harness, vendor),
  ]
  const path = 'a'.repeat(36)
  await report([
    {
      token: one.key,
      url: `https://x.example/x1_${path}${one.key}?also=${two.key}#${one.key}`,
      source: two.key,
    },
    { token: two.key, url: '😀'.repeat(leakUrlMax + 5), source: `é${'😀'.repeat(leakSourceMax)}` },
    { token: three.key, url: `${'x'.repeat(leakUrlMax - 20)}${three.key}`, source: '' },
  ])
  const rows = new Map((await leaksIn(vendor)).map(row => [row.target_id, row.payload]))
  const bare = (key: { display_prefix: string }) => `${key.display_prefix}…`
  assert.deepEqual(rows.get(one.id), {
    reason: 'leaked',
    // Together with the preceding text, the beginning of the token looks like another one.
    url: `https://x.example/x1_aaaa…${bare(one).slice(2)}?also=${bare(two)}#${bare(one)}`,
    source: bare(two),
  })
  assert.deepEqual(rows.get(two.id), {
    reason: 'leaked',
    url: '😀'.repeat(leakUrlMax),
    source: `é${'😀'.repeat(leakSourceMax - 1)}`,
  })
  assert.deepEqual(rows.get(three.id), {
    reason: 'leaked',
    url: `${'x'.repeat(leakUrlMax - 20)}${bare(three)}`,
    source: null,
  })
  const kept = await query(
    'select payload as text from audit_logs union all select to_jsonb(l)::text from leak_reports l',
  )
  for (const { key } of [one, two, three]) {
    for (const { text } of kept) assert.ok(!text.includes(key))
    assert.ok(!harness.logged.join('').includes(key))
  }
})

test('twenty deliveries, ten at once, audit each token once and get the same response', async () => {
  const vendor = await makeVendor(harness)
  const keys = [await issueKey(harness, vendor), await issueKey(harness, vendor)]
  const person = await makePerson(query, { workspaceId: vendor.workspaceId })
  const entries = [...keys.map(({ key }) => key), vendor.test, person.token].map(leak)
  const expected = entries.map(entry => answer(entry, 'true_positive'))
  const deliver = async () => {
    const { status, body } = await report(entries)
    assert.deepEqual([status, body], [200, expected])
  }
  await Promise.all(Array.from({ length: 10 }, deliver))
  for (let i = 0; i < 10; i++) await deliver()
  assert.equal((await leaksIn(vendor)).length, 4)
  const [{ reports }] = await query('select count(*) as reports from leak_reports where workspace_id = $1', [
    vendor.workspaceId,
  ])
  assert.equal(reports, 4)
})

test('a revoked or expired key is a true positive and keeps its first reason', async () => {
  const vendor = await makeVendor(harness)
  const revoked = await issueKey(harness, vendor)
  const expired = await issueKey(harness, vendor, { expires_at: '2020-01-01T00:00:00Z' })
  await ask('POST', `/v1/keys/${revoked.id}/revoke`, { token: vendor.live, body: { reason: 'lost' } })
  const { body } = await report([leak(revoked.key), leak(expired.key)])
  assert.deepEqual(
    body.map(({ label }: { label: string }) => label),
    ['true_positive', 'true_positive'],
  )
  const reasonOf = async ({ id }: { id: string }) =>
    (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body.revoked_reason
  assert.deepEqual([await reasonOf(revoked), await reasonOf(expired)], ['lost', 'leaked'])
})

test('a failed revocation is 503, the others are done, and a redelivery repeats it', async () => {
  const vendor = await makeVendor(harness)
  const keys = []
  for (let i = 0; i < 12; i++) keys.push(await issueKey(harness, vendor))
  const entries = [...keys.map(({ key }) => key), vendor.test].map(leak)
  const stuck = keys[5]
  await query(`create function refuse_leak() returns trigger language plpgsql as $$
    begin if new.id = '${stuck.id}' then raise 'refused'; end if; return new; end $$`)
  await query(
    'create trigger refuse_leak before update on api_keys for each row execute function refuse_leak()',
  )
  const first = await report(entries)
  assert.deepEqual([first.status, first.body.code], [503, 'unavailable'])
  const revoked = await leaksIn(vendor)
  assert.equal(revoked.length, 12)
  assert.ok(!revoked.some(({ target_id }) => target_id === stuck.id))
  await query('drop trigger refuse_leak on api_keys')
  const second = await report(entries)
  assert.equal(second.status, 200)
  assert.equal((await leaksIn(vendor)).length, 13)
  for (const { id } of keys) {
    assert.equal((await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body.revoked_reason, 'leaked')
  }
})

test('a locked row delays only its own token, at most for the time of a transaction', async () => {
  const vendor = await makeVendor(harness)
  const [held, free] = [await issueKey(harness, vendor), await issueKey(harness, await makeVendor(harness))]
  await query('begin')
  await query('select from api_keys where id = $1 for update', [held.id])
  const impatient = await harness.startImpatient()
  const entries = signedReport([leak(held.key), leak(free.key)])
  const { status } = await impatient.ask('POST', reportPath, entries)
  await query('rollback')
  assert.equal(status, 503)
  const [row] = await query('select revoked_reason from api_keys where id = $1', [free.id])
  assert.equal(row.revoked_reason, 'leaked')
  assert.equal((await report([leak(held.key), leak(free.key)])).status, 200)
})

test('a report of thousands of entries gets a label for each', async () => {
  const vendor = await makeVendor(harness)
  const { key } = await issueKey(harness, vendor)
  const entries = Array.from({ length: 5_000 }, (_, i) => ({
    token: i === 4_321 ? key : drawToken('kr_live', randomBytes),
  }))
  const { status, body } = await report(entries)
  assert.equal(status, 200)
  assert.deepEqual(
    body.flatMap(({ label }: { label: string }, i: number) => (label === 'true_positive' ? [i] : [])),
    [4_321],
  )
})
