import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { idsOf, makersOf } from '../../test/makers.ts'
import { makePerson } from '../../test/people.ts'
import { faultsOf } from '../../test/whole.ts'

const most = 5
const harness = await startHarness({ maxActiveSecretKeys: most })
const { ask, query } = harness
const { makeKey, invite, accept, revoke, isAlive, statusOf, revocationsIn, makeScene } = makersOf(harness)

test('the cap of an environment counts active secret keys, not revoked or expired ones', async () => {
  const { live, owner, child, workspaceId } = await makeScene()
  const create = (body: object = { env: 'live' }) => ask('POST', '/v1/secret_keys', { token: live, body })
  const [{ active }] = await query(
    `select count(*)::int as active from secret_keys where workspace_id = $1 and env = 'live' and revoked_at is null`,
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

const readKey = async (token: string, id: string) =>
  (await ask('GET', `/v1/secret_keys/${id}`, { token })).body

test('a cascade over thousands of keys ends them in batches, and its answer leads to all', async () => {
  const { live, owner, child, workspaceId } = await makeScene()
  await query(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, meta, display_prefix,
       created_at, expires_at)
     select $1, gen_random_uuid(), 'live', 'owner', 'secret_key', $2, '{}', 'krsk_live_abcd', now(),
       case when n > 500 then now() end
     from generate_series(1, 3000) n`,
    [workspaceId, child.id],
  )
  const { status, body } = await revoke(owner.token, child.id, { cascade: true })
  assert.equal(status, 200, JSON.stringify(body).slice(0, 500))
  assert.deepEqual([body.descendants.count, body.descendants.data.length], [501, 200])
  // A slow machine has not finished within the answer.
  while ((await readKey(live, child.id)).cascade !== undefined) await harness.deps.endings.resume()
  const again = await revoke(owner.token, child.id, { cascade: true })
  assert.deepEqual(again.body.cascade, { state: 'done', revoked: 501, remaining: 0 })

  const found = idsOf(again.body.descendants.data)
  for (let cursor = again.body.descendants.next_cursor; cursor !== null; ) {
    const url = `/v1/secret_keys?made_by=${child.id}&include_revoked=true&limit=200&cursor=${cursor}`
    const page = (await ask('GET', url, { token: live })).body
    // The list also has the expired ones.
    found.push(...idsOf(page.data.filter((key: { revoked_at: unknown }) => key.revoked_at !== null)))
    cursor = page.next_cursor
  }
  assert.equal(new Set(found).size, 501)
  assert.deepEqual(found, found.toSorted().toReversed())
  const rows = await query(
    `select count(*)::int as count from audit_logs where workspace_id = $1 and payload::jsonb->>'reason' = 'cascade'`,
    [workspaceId],
  )
  assert.deepEqual(rows, [{ count: 501 }])
})

/** Makes every write of a table in the workspace fail for rows that fulfil the condition. @returns how to repair it. */
async function breakWrites(table: string, workspaceId: string, condition: string) {
  const name = `test_broken_${randomUUID().replaceAll('-', '')}`
  await query(`
    create function ${name}() returns trigger language plpgsql as
      'begin if new.workspace_id = ''${workspaceId}'' and ${condition} then raise ''broken''; end if; return new; end';
    create trigger ${name} before update on ${table} for each row execute function ${name}()`)
  return () => query(`drop trigger ${name} on ${table}; drop function ${name}()`)
}

test('a key ends though its descendants cannot yet, and another process ends them later', async () => {
  const { live, child, grandchild, workspaceId } = await makeScene()
  const repair = await breakWrites('secret_keys', workspaceId, `new.id = ''${grandchild.id}''`)
  const { status, body } = await revoke(live, child.id, { cascade: true })
  assert.deepEqual([status, typeof body.revoked_at], [200, 'string'])
  assert.deepEqual(body.cascade, { state: 'running', revoked: 0, remaining: 1 })
  assert.deepEqual(idsOf(body.descendants.data), [grandchild.id])
  assert.equal(await isAlive(child), false)
  await harness.deps.endings.resume()
  assert.deepEqual((await readKey(live, child.id)).cascade, body.cascade)

  await repair()
  const other = await harness.startImpatient()
  await other.deps.endings.resume()
  assert.equal((await readKey(live, child.id)).cascade, undefined)
  assert.equal(await isAlive(grandchild), false)
  assert.deepEqual(await revocationsIn(live), [
    { action: 'secret_key.revoked', target_id: child.id, reason: null, ancestor: undefined },
    {
      action: 'secret_key.revoked',
      target_id: grandchild.id,
      reason: 'cascade',
      ancestor: { type: 'secret_key', id: child.id },
    },
  ])
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

test('an invitation below an ended maker is refused before it is revoked', async () => {
  const { owner, leaver, grandchild, live, workspaceId } = await makeScene()
  const kept = await invite(grandchild.key)
  const unrelated = await invite(live)
  const repair = await breakWrites('workspace_invites', workspaceId, `new.revoked_at is not null`)
  const removed = await ask('DELETE', `/v1/members/${leaver.userId}`, { token: owner.token })
  assert.deepEqual([removed.status, removed.body.cascade.state], [200, 'running'])
  assert.equal(await statusOf(live, kept), 'pending')
  assert.equal((await accept(leaver, kept)).body.code, 'invalid_token')
  assert.equal((await accept(await makePerson(query), unrelated)).status, 200)
  await repair()
  await harness.deps.endings.resume()
  assert.equal(await statusOf(live, kept), 'revoked')
})
