import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { makeVendor } from '../../test/vendor.ts'
import { type AuditFilter, listAuditRows } from './list-sql.ts'

const harness = await startHarness()
const { query } = harness
const { workspaceId } = await makeVendor(harness)

const rows = 60_000
const pairs = 22 * 3
const actor = randomUUID()
const target = randomUUID()

/**
 * Fills the log with rows of one action, actor and environment, and has the rows that filters look for at its far ends:
 * a scan in the order of seq would read everything between.
 */
async function fill(): Promise<void> {
  await query(
    `insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, payload,
       created_at, prev_hash, hash)
     select $1, 1000 + n, case when is_end then 'tenant.deleted' else 'api_key.created' end, 'user',
       case when is_end then $2 else $3 end, 'tenant', case when is_end then $4::uuid else gen_random_uuid() end,
       case when is_end then 'test' else 'live' end, '{}', now() - make_interval(secs => $5 - n), sha256(''), sha256('')
     from generate_series(1, $5::int) n cross join lateral (select n <= 2 or n > $5::int - 2 as is_end) e`,
    [workspaceId, actor, randomUUID(), target, rows],
  )
}

const late = randomUUID()

/** Adds many rows of one actor about one target, of which no statistics know. */
const fillLate = () =>
  query(
    `insert into audit_logs (workspace_id, seq, action, actor_type, actor_id, target_type, target_id, env, payload,
       created_at, prev_hash, hash)
     select $1, 100000 + n, 'tenant.updated', 'user', $2, 'tenant', $3::uuid, null, '{}', now(), sha256(''), sha256('')
     from generate_series(1, 20000) n`,
    [workspaceId, late, late],
  )

const nothing: AuditFilter = {
  reach: 'both',
  order: 'desc',
  beyond: Number.MAX_SAFE_INTEGER,
  limit: 50,
  action: null,
  actorId: null,
  targetId: null,
  env: null,
  from: null,
  before: null,
}
const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000)
/** An hour in the middle of the rows, a row a second. */
const hour = { from: secondsAgo(rows / 2 + 3_600), before: secondsAgo(rows / 2) }
const filters: Partial<AuditFilter>[] = [
  {},
  { action: 'tenant.deleted' },
  { action: 'api_key.created' },
  { action: 'project.deleted' },
  { env: 'test' },
  { env: 'live' },
  { actorId: actor },
  { actorId: randomUUID() },
  { targetId: target },
  { targetId: randomUUID() },
  { action: 'api_key.created', env: 'test' },
  { action: 'api_key.created', actorId: actor },
  { env: 'live', actorId: actor },
  { action: 'tenant.updated' },
  { actorId: late },
  { targetId: late },
  hour,
  { from: hour.from },
  { before: hour.before },
  { from: secondsAgo(-3_600) },
  { before: secondsAgo(10 * rows) },
  { ...hour, action: 'tenant.deleted' },
  { ...hour, action: 'api_key.created' },
  { ...hour, env: 'test' },
  { ...hour, actorId: actor },
  { ...hour, targetId: target },
  { before: hour.before, env: 'test', actorId: actor },
]
/** Rows of the minute before and after the times, and those that find the two places. */
const beside = (filter: Partial<AuditFilter>) => (filter.from || filter.before ? 2 * (2 * 60 + 2 * 20) : 0)

test('every filter of the audit log reads a page of rows, however long the log is', async () => {
  await fill()
  for (const state of ['before statistics', 'with statistics', 'with old statistics']) {
    if (state === 'with old statistics') await fillLate()
    for (const filter of filters)
      for (const order of ['asc', 'desc'] as const)
        for (const reach of ['both', 'test'] as const) {
          if (reach === 'test' && filter.env === 'live') continue
          const asked = { ...nothing, ...filter, order, reach, beyond: order === 'asc' ? 0 : nothing.beyond }
          // More often than Postgres plans each time, so that the plan that it keeps is tested too.
          for (let i = 0; i < 8; i++) {
            const read = await harness.db.inWorkspace(workspaceId, tx =>
              rowsRead(tx, 'audit_logs', () => listAuditRows(tx, asked)),
            )
            const what = `${JSON.stringify({ ...filter, order, reach })} ${state} read ${read}`
            assert.ok(read <= 2 * (nothing.limit + 1 + pairs) + beside(filter), what)
          }
        }
    if (state === 'before statistics') await query('vacuum analyze audit_logs')
  }
})
