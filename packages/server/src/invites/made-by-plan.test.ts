import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'
import { retireBelow } from './sql.ts'

const harness = await startHarness()
const { query } = harness
const { makeScene } = makersOf(harness)

test('pending invitations made by one maker are found by index among many others', async () => {
  const { workspaceId, leaver } = await makeScene()
  await query(
    `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_by_type, created_by_id,
       created_in_session, created_at, expires_at)
     select $1, gen_random_uuid(), n || '@example.com', n || '@example.com', 'owner', sha256(n::text::bytea), 'user',
       gen_random_uuid()::text, gen_random_uuid(), now(), now() + interval '7 days'
     from generate_series(1, 20000) n`,
    [workspaceId],
  )
  await query('analyze workspace_invites')
  for (const maker of [
    ['user', leaver.userId],
    ['session', randomUUID()],
  ]) {
    const rows = await query(`explain ${retireBelow.text}`, [workspaceId, ...maker, 200])
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    assert.match(plan, /workspace_invites_by_maker/)
    assert.doesNotMatch(plan, /Seq Scan on workspace_invites/, plan)
  }
})
