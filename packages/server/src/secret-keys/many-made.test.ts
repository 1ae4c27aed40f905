import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'

const most = 5
const harness = await startHarness({ maxActiveSecretKeys: most })
const { ask, query } = harness
const { makeKey, revoke, makeScene } = makersOf(harness)

test('the cap of a workspace counts active secret keys, not revoked or expired ones', async () => {
  const { live, owner, child, workspaceId } = await makeScene()
  const create = (body: object = { env: 'live' }) => ask('POST', '/v1/secret_keys', { token: live, body })
  const [{ active }] = await query(
    'select count(*)::int as active from secret_keys where workspace_id = $1 and revoked_at is null',
    [workspaceId],
  )
  for (let i = active; i < most; i++) await makeKey(live)
  const refused = await create()
  assert.deepEqual([refused.status, refused.body.code], [409, 'key_limit_reached'])
  const rotated = await ask('POST', `/v1/secret_keys/${child.id}/rotate`, { token: live })
  assert.deepEqual([rotated.status, rotated.body.code], [409, 'key_limit_reached'])

  await revoke(owner.token, child.id)
  const brief = await create({ env: 'live', expires_at: new Date(Date.now() + 3_600_000).toISOString() })
  assert.equal(brief.status, 201)
  assert.equal((await create()).status, 409)
  await query(`update secret_keys set expires_at = now() where id = $1`, [brief.body.id])
  assert.equal((await create()).status, 201)
})

test('a cascade revokes thousands of keys, with revoked and expired ones among them', async () => {
  const { live, owner, child, workspaceId } = await makeScene()
  // More than the lock table of Postgres can hold.
  await query(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, meta, display_prefix,
       created_at, expires_at)
     select $1, gen_random_uuid(), 'live', 'owner', 'secret_key', $2, '{}', 'krsk_live_abcd', now(),
       case when n > 500 then now() end
     from generate_series(1, 13000) n`,
    [workspaceId, child.id],
  )
  const { status, body } = await revoke(owner.token, child.id, { cascade: true })
  assert.equal(status, 200, JSON.stringify(body).slice(0, 500))
  assert.equal(body.descendants.length, 501)
  assert.equal((await ask('GET', '/v1/workspace', { token: live })).status, 200)
})

test('a cascade is not bound by the deadline of a request', async () => {
  const { owner, child, workspaceId } = await makeScene()
  await query(`
    create function test_slow() returns trigger language plpgsql as
      'begin if new.workspace_id = ''${workspaceId}'' then perform pg_sleep(1); end if; return new; end';
    create trigger test_slow before update on secret_keys for each row execute function test_slow()`)
  const impatient = await harness.startImpatient()
  const { status, body } = await impatient.ask('POST', `/v1/secret_keys/${child.id}/revoke`, {
    token: owner.token,
    body: { cascade: true },
  })
  await query('drop trigger test_slow on secret_keys; drop function test_slow()')
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.descendants.length, 1)
})
