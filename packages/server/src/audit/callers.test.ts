import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLog } from '@keyrail/contract/vendor/audit'
import pg from 'pg'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { issueKey, makeProject, makeSecretKey, makeVendor } from '../../test/vendor.ts'
import { erasePerson } from '../people/removal.ts'

const harness = await startHarness({ trustProxy: 1 })
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId, tenantId } = vendor
const owner = await makePerson(query, { workspaceId, role: 'owner' })

const from = (ip: string) => ({ headers: { 'x-forwarded-for': `spoofed, ${ip}` } })
let names = 0
const rename = (token: string, ip: string) =>
  ask('PATCH', `/v1/tenants/${tenantId}`, { token, body: { name: `Name ${names++}` }, ...from(ip) })
const newest = async (token = live, filter = ''): Promise<AuditLog> =>
  (await ask('GET', `/v1/audit_logs?order=desc&limit=1${filter}`, { token })).body.data[0]
const chainOf = async () => (await ask('GET', '/v1/audit_logs/chain', { token: live })).body

test('a row has the address of its caller, of any kind, as the trusted proxies report it', async () => {
  await rename(live, '203.0.113.7')
  assert.equal((await newest()).ip, '203.0.113.7')
  await rename(owner.token, '::ffff:203.0.113.8')
  assert.equal((await newest()).ip, '203.0.113.8')
  for (const filter of ['&action=tenant.updated', `&target_id=${tenantId}`, `&actor_id=${owner.userId}`])
    assert.equal((await newest(live, filter)).ip, '203.0.113.8', filter)
  const token = await mintToken(harness, vendor)
  await ask('POST', '/v1/embed/keys', { token, body: {}, ...from('2001:db8::1') })
  const row = await newest()
  assert.deepEqual([row.actor_type, row.ip], ['embed_token', '2001:db8::1'])
  const made = await makeVendor(harness)
  const [first] = (await ask('GET', '/v1/audit_logs', { token: made.live })).body.data
  assert.deepEqual([first.actor_type, first.ip], ['bootstrap', '127.0.0.1'])
})

test('a change of many rows has one address beside all of them', async () => {
  const project = await makeProject(harness, vendor)
  for (let at = 0; at < 3; at++) await issueKey(harness, { ...vendor, projectId: project.id })
  await ask('DELETE', `/v1/projects/${project.id}`, { token: live, ...from('203.0.113.9') })
  const rows: AuditLog[] = (await ask('GET', '/v1/audit_logs?order=desc&limit=5', { token: live })).body.data
  assert.deepEqual(
    rows.map(({ action, ip }) => [action, ip === '203.0.113.9']),
    [
      ...Array.from({ length: 3 }, () => ['api_key.revoked', true]),
      ['project.deleted', true],
      ['api_key.created', false],
    ],
  )
  assert.equal((await query(`select from audit_callers where ip = '203.0.113.9'`)).length, 1)
})

test('only an owner sees addresses in lists and exports, with a live credential', async () => {
  await rename(live, '203.0.113.10')
  const admin = await makePerson(query, { workspaceId, role: 'admin' })
  const member = await makePerson(query, { workspaceId, role: 'member' })
  const { key: lesser } = await makeSecretKey(harness, { ...vendor, live: admin.token })
  for (const token of [live, owner.token]) {
    const exported = (await ask('GET', '/v1/audit_logs/export', { token })).body
    assert.ok(exported.includes('"ip":"203.0.113.10"'))
    assert.ok('ip' in (await newest(token)))
  }
  for (const token of [admin.token, member.token, lesser, vendor.test]) {
    for (const path of ['/v1/audit_logs?limit=200', '/v1/audit_logs/export']) {
      const { status, body } = await ask('GET', path, { token })
      assert.equal(status, 200)
      assert.ok(!JSON.stringify(body).includes('203.0.113.'), path)
    }
  }
})

test('an actor that did not send the request has no address: the key of a cascade', async () => {
  const { key, id } = await makeSecretKey(harness, vendor)
  const below = await makeSecretKey(harness, { ...vendor, live: key })
  await ask('POST', `/v1/secret_keys/${id}/revoke`, {
    token: live,
    body: { cascade: true },
    ...from('203.0.113.11'),
  })
  const revoked = await newest(live, `&target_id=${id}`)
  assert.deepEqual([revoked.action, revoked.ip], ['secret_key.revoked', '203.0.113.11'])
  const cascaded = await newest(live, `&target_id=${below.id}`)
  assert.deepEqual([cascaded.action, cascaded.ip], ['secret_key.revoked', undefined])
})

test('with a person the addresses of their changes are erased, and the chain verifies', async () => {
  const email = 'gone@example.com'
  const gone = await makePerson(query, { workspaceId, role: 'owner', email })
  await rename(gone.token, '203.0.113.12')
  await ask('DELETE', `/v1/members/${gone.userId}`, { token: live, ...from('203.0.113.13') })
  const client = new pg.Client(harness.connection)
  await client.connect()
  const removed = await erasePerson(client, email).finally(() => client.end())
  assert.equal(removed.audit_callers, 1)
  assert.deepEqual(await query(`select from audit_callers where ip = '203.0.113.12'`), [])
  assert.equal((await newest(live, `&actor_id=${gone.userId}`)).ip, undefined)
  assert.equal((await newest(live, `&target_id=${gone.userId}`)).ip, '203.0.113.13')
  assert.equal((await chainOf()).valid, true)
})

test('no address is part of the chain: it verifies as before when one is changed', async () => {
  const { head_hash } = await chainOf()
  await query(`update audit_callers set ip = '192.0.2.1'`)
  const { valid, head_hash: after } = await chainOf()
  assert.deepEqual([valid, after], [true, head_hash])
})
