import assert from 'node:assert/strict'
import { test } from 'node:test'
import type pg from 'pg'
import { startHarness } from '../../../test/harness.ts'
import { openTestLane, patientBudgets } from '../../../test/stores.ts'
import { createMetrics } from '../observe/prometheus.ts'
import { sql } from './connection.ts'
import { unbound } from './db.ts'
import type { LaneSpec } from './lanes/spec.ts'
import { createIdleConnections } from './pool/idle.ts'
import { openPool } from './pool/pool.ts'
import { runRound } from './upkeep.ts'

const { connection, query, deps } = await startHarness()
await query(`create function refuse(code text) returns int language plpgsql as
  $$ begin raise exception using errcode = code, message = 'refused'; end $$`)
const refuse = sql('test.refuse', 'select refuse($1)')

const metrics = createMetrics({ version: '0', node: '0' })
/** The counts by reason, from the text that Prometheus gets. */
const counts = async () =>
  Object.fromEntries(
    [...(await metrics.text()).matchAll(/^keyrail_database_refusals_total\{reason="(\w+)"\} (\d+)$/gm)].map(
      ([, reason, count]) => [reason, Number(count)],
    ),
  )

test('refusals of transactions, lanes and upkeep are counted by their reason, others not at all', async () => {
  const none = { read_only: 0, disk_full: 0, out_of_memory: 0, too_many_connections: 0, io_error: 0 }
  assert.deepEqual(await counts(), none)
  const pool = openPool({
    connection,
    size: 1,
    budgets: patientBudgets,
    hints: { announce() {} },
    lanes: { idle: createIdleConnections() },
    observer: metrics,
  })
  const spec: LaneSpec<string, number> = {
    name: 'refuse',
    shares: 'writes',
    repeatable: false,
    async converse(ask, items) {
      await ask({ statement: refuse, values: [items[0]] })
      return items.map(() => 0)
    },
  }
  const lane = openTestLane(connection, spec, metrics)
  const round = (code: string) =>
    runRound({
      connection,
      chores: [
        {
          name: 'refuse',
          run: async (client: pg.ClientBase) => (await client.query(refuse.text, [code])).rowCount ?? 0,
        },
      ],
      log: deps.log,
      clock: deps.clock,
      observer: metrics,
    })
  for (const code of ['53100', '58030', '23505', '57014']) {
    const work = pool.bind(unbound).asPerson(deps.makeId(), tx => tx.query(refuse, [code]))
    await assert.rejects(work)
    await assert.rejects(lane.run(code))
    await round(code)
  }
  // Not repeatable, and yet sent again: a statement that failed has written nothing.
  assert.deepEqual(await counts(), { ...none, disk_full: 4, io_error: 4 })
  await pool.close()
  await lane.close()
})
