import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportPath, signedReport } from '../../test/codehost.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, leakOnce, makeVendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneChanges } from '../policy/upkeep.ts'
import { pruneKeyRows } from './end-sql.ts'
import { pruneEndedKeys } from './room.ts'

const harness = await startHarness()
const { ask, query } = harness
const now = new Date('2027-03-31T12:00:00.000Z')
await harness.setStoreTime(now)
const daysAgo = (days: number, ms = 0) => new Date(now.getTime() - days * 86_400_000 - ms)
const prune = () => doChores(harness.connection, [pruneEndedKeys], harness.deps.log)

const forgetChanges = () => query('delete from policy_changes')

test('a key is deleted ninety days after its end, with its credential; the audit log keeps it', async () => {
  const vendor = await makeVendor(harness)
  const { live } = vendor
  const longAgo = daysAgo(90, 1)
  const old = { created_at: longAgo }
  const ends: Record<string, [columns: object, stays: boolean]> = {
    'expired long ago': [{ ...old, expires_at: longAgo }, false],
    'revoked long ago': [{ ...old, revoked_at: longAgo }, false],
    'revoked before its expiry': [{ ...old, revoked_at: longAgo, expires_at: daysAgo(-1) }, false],
    'expired ninety days ago': [{ ...old, expires_at: daysAgo(90) }, true],
    'expired long ago and revoked since': [{ ...old, expires_at: longAgo, revoked_at: daysAgo(1) }, true],
    'made with an expiry in the past': [{ created_at: daysAgo(1), expires_at: longAgo }, true],
    'imported after its end': [{ ...old, expires_at: longAgo, imported_at: daysAgo(1) }, true],
    'still active': [{ ...old, expires_at: daysAgo(-1) }, true],
    endless: [old, true],
  }
  const issued: Record<string, Awaited<ReturnType<typeof issueKey>>> = {}
  for (const [what, [columns]] of Object.entries(ends)) {
    const key = await issueKey(harness, vendor, { name: what })
    issued[what] = key
    const names = Object.keys(columns)
    await query(
      `update api_keys set ${names.map((name, i) => `${name} = $${i + 2}`).join(', ')} where id = $1`,
      [key.id, ...Object.values(columns)],
    )
  }
  await forgetChanges()
  assert.equal(await prune(), true)
  const left = await query('select name from api_keys where workspace_id = $1', [vendor.workspaceId])
  const kept = Object.keys(ends).filter(what => ends[what]?.[1])
  assert.deepEqual(left.map(({ name }) => name).toSorted(), kept.toSorted())
  const credentials = await query(`select from credentials where workspace_id = $1 and kind = 'api_key'`, [
    vendor.workspaceId,
  ])
  assert.equal(credentials.length, kept.length)

  const gone = issued['revoked long ago']
  assert.ok(gone)
  assert.equal((await ask('GET', `/v1/keys/${gone.id}`, { token: live })).status, 404)
  const { body } = await ask('GET', `/v1/audit_logs?target_id=${gone.id}`, { token: live })
  assert.deepEqual(
    body.data.map((row: { action: string }) => row.action),
    ['api_key.created'],
  )
  const report = await ask('POST', reportPath, signedReport([{ token: gone.key, type: 'key' }]))
  assert.deepEqual([report.status, report.body[0].label], [200, 'false_positive'])
})

test('a key of which nodes still learn, or whose leak is still reported, stays until then', async () => {
  const vendor = await makeVendor(harness)
  const changed = await issueKey(harness, vendor)
  const leaked = await leakOnce(harness, vendor)
  await query('delete from policy_changes where workspace_id = $1 and key_id <> $2', [
    vendor.workspaceId,
    changed.id,
  ])
  await query('update api_keys set created_at = $2, revoked_at = $2 where workspace_id = $1', [
    vendor.workspaceId,
    daysAgo(91),
  ])
  const count = async () =>
    (await query('select from api_keys where workspace_id = $1', [vendor.workspaceId])).length
  await prune()
  assert.equal(await count(), 2, JSON.stringify(leaked))
  await query('update policy_changes set changed_at = $1', [daysAgo(8)])
  await doChores(harness.connection, [pruneChanges, pruneEndedKeys], harness.deps.log)
  await query('delete from leak_reports')
  await prune()
  assert.equal(await count(), 0)
})

test('a round deletes thousands of keys at most, and the next goes on', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await query(
    `insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, display_prefix, expires_at, created_at,
       updated_at)
     select workspace_id, sha256(n::text::bytea), gen_random_uuid(), project_id, tenant_id, env, display_prefix, $2, $2, $2
     from api_keys, generate_series(1, 2050) n where id = $1`,
    [id, daysAgo(100)],
  )
  const left = []
  for (let rounds = 0; rounds < 2; rounds += 1) {
    await prune()
    left.push((await query('select from api_keys where workspace_id = $1', [vendor.workspaceId])).length)
  }
  assert.deepEqual(left, [51, 1])
})

test('a round finds what ended long ago by index among many others', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor)
  await query(
    `insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, display_prefix, expires_at, created_at,
       updated_at)
     select workspace_id, sha256(('young' || n)::bytea), gen_random_uuid(), project_id, tenant_id, env, display_prefix,
       case when n % 2 = 0 then $3::timestamptz end, $2, $2
     from api_keys, generate_series(1, 20000) n where id = $1`,
    [id, daysAgo(10), daysAgo(2_000)],
  )
  await query('analyze api_keys')
  const rows = await query(`explain ${pruneKeyRows}`, [100])
  const plan = rows.map(row => row['QUERY PLAN']).join('\n')
  assert.match(plan, /Index Scan using api_keys_by_rest_here/, plan)
  // No row is read to find out that it was imported of late.
  assert.match(plan, /Index Cond: .*GREATEST.*imported_at/, plan)
  assert.doesNotMatch(plan, /Seq Scan on api_keys/, plan)
})
