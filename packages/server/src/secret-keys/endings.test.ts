import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'

const harness = await startHarness()
const { query } = harness
const { makeKey, makeScene, isAlive } = makersOf(harness)
const { resume } = harness.deps.endings

/** Notes that what a key made is to end, as if its end were so long ago. */
const noteEnding = (workspaceId: string, makerId: string, ago: string) =>
  query(
    `insert into endings (workspace_id, maker_type, maker_id, revokes_keys, actor_type, began_at)
     values ($1, 'secret_key', $2, true, 'operator', now() - $3::interval)`,
    [workspaceId, makerId, ago],
  )

/** As if the keys below a maker were too many for a batch. */
await query(`
  create function test_stuck() returns trigger language plpgsql as
    'begin if new.meta->>''stuck'' is not null and new.revoked_at is not null then raise ''stuck''; end if; return new; end';
  create trigger test_stuck before update on secret_keys for each row execute function test_stuck()`)

/** Ends makers whose keys cannot end. */
async function addStuck(workspaceId: string, count: number): Promise<void> {
  const made = await query(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, meta, display_prefix, created_at)
     select $1, gen_random_uuid(), 'live', 'owner', 'secret_key', gen_random_uuid(), '{"stuck":"yes"}', 'krsk_live_abcd', now()
     from generate_series(1, $2) returning created_by_id`,
    [workspaceId, count],
  )
  for (const { created_by_id } of made) await noteEnding(workspaceId, created_by_id, '1 hour')
}

test('endings of one workspace that do not get on keep no other workspace waiting', async () => {
  await addStuck((await makeScene()).workspaceId, 25)
  const { workspaceId, child, grandchild } = await makeScene()
  await noteEnding(workspaceId, child.id, '1 second')
  await resume()
  assert.equal(await isAlive(grandchild), false)
})

test('an ending that does not get on goes behind the others of its workspace', async () => {
  const { workspaceId, child, grandchild } = await makeScene()
  await addStuck(workspaceId, 2)
  await noteEnding(workspaceId, child.id, '1 second')
  for (let turn = 1; turn <= 3; turn++) await resume()
  assert.equal(await isAlive(grandchild), false)
})

test('more workspaces than have a turn in one look take turns', async () => {
  for (let made = 0; made < 20; made++) await addStuck((await makeScene()).workspaceId, 1)
  const { workspaceId, child, grandchild } = await makeScene()
  await noteEnding(workspaceId, child.id, '1 second')
  for (let look = 1; look <= 2; look++) await resume()
  assert.equal(await isAlive(grandchild), false)
})

test('what another process works at is left to it', async () => {
  const { workspaceId, child, grandchild } = await makeScene()
  await noteEnding(workspaceId, child.id, '1 day')
  await query('begin; select from endings where maker_id = $1 for update'.replace('$1', `'${child.id}'`))
  await resume()
  assert.equal(await isAlive(grandchild), true)
  await query('commit')
  const later = await makeKey(grandchild.key)
  await resume()
  assert.deepEqual([await isAlive(grandchild), await isAlive(later)], [false, false])
})
