import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'
import { findActiveMade } from './made-sql.ts'

const harness = await startHarness()
const { query } = harness
const { makeScene } = makersOf(harness)

test('keys made by one maker are found by index among many others', async () => {
  const { workspaceId, leaver, child } = await makeScene()
  await query(
    `insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, created_in_session, display_prefix,
       created_at)
     select $1, gen_random_uuid(), 'live', 'owner', case n % 2 when 0 then 'user' else 'secret_key' end,
       gen_random_uuid()::text, gen_random_uuid(), 'krsk_live_abcd', now()
     from generate_series(1, 20000) n`,
    [workspaceId],
  )
  await query('analyze secret_keys')
  for (const maker of [
    ['user', leaver.userId],
    ['secret_key', child.id],
    ['session', randomUUID()],
  ]) {
    const rows = await query(`explain ${findActiveMade.text}`, [workspaceId, ...maker, 200])
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    assert.match(plan, /secret_keys_by_maker/)
    assert.doesNotMatch(plan, /Seq Scan on secret_keys/, plan)
  }
})
