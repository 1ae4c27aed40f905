import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { examinedOn } from '../../../test/examine.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'
import { migrate } from '../../platform/db/migrate/migrate.ts'

/** A separate server: some of the faults are settings of the whole server, or of a role. */
describe('keyrail doctor and tables that differ from what the migrations made', () => {
  let cluster: ScratchCluster
  let doctor: ReturnType<typeof examinedOn>
  before(async () => {
    cluster = await startScratchCluster()
    await migrate(cluster.connection)
    doctor = examinedOn(cluster.connection)
  })
  after(async () => {
    await doctor.remove()
    await cluster.remove()
  })
  async function run(...statements: string[]) {
    const client = new pg.Client(cluster.connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  /** Runs what the check says, which ends the fault. */
  async function follow(name: string, todo: string | undefined) {
    await run(...(todo ?? '').split('\n').filter(line => line.startsWith('alter ')))
    assert.equal((await doctor.found(name))?.status, 'ok')
  }

  test('tables as migrated are ok', async () => {
    for (const name of ['row security', 'triggers', 'autovacuum'])
      assert.equal((await doctor.found(name))?.status, 'ok', name)
  })

  test('row-level security that is off, or forced on the owner, is a fault with the SQL', async () => {
    await run(
      'alter table api_keys disable row level security',
      'alter table tenants force row level security',
    )
    const check = await doctor.found('row security')
    assert.equal(check?.status, 'fault')
    assert.match(check?.message ?? '', /changed for api_keys, tenants$/)
    await follow('row security', check?.todo)
  })

  test('a role of the service that bypasses row-level security is a fault with the SQL', async () => {
    await run('alter role keyrail_app bypassrls')
    const check = await doctor.found('row security')
    assert.match(`${check?.status}: ${check?.message}`, /^fault: keyrail_app bypasses it/)
    await follow('row security', check?.todo)
  })

  test('triggers that are off for a table are a fault with the SQL', async () => {
    await run('alter table audit_logs disable trigger all', 'alter table "api_keys" disable trigger all')
    const check = await doctor.found('triggers')
    assert.match(`${check?.status}: ${check?.message}`, /^fault: off for api_keys, audit_logs: /)
    await follow('triggers', check?.todo)
  })

  test('sessions in which no trigger fires are a fault that names the setting', async () => {
    const { user } = cluster.connection
    await run(`alter role ${user} set session_replication_role = replica`)
    const check = await doctor.found('triggers')
    assert.match(`${check?.status}: ${check?.message}`, /^fault: session_replication_role is replica/)
    await run(`alter role ${user} reset session_replication_role`)
  })

  test('autovacuum that is off for a table, its long values or the queue is a warning', async () => {
    await run(
      'alter table usage_hours set (autovacuum_enabled = off)',
      'alter table audit_logs set (toast.autovacuum_enabled = false)',
      'alter table graphile_worker._private_jobs set (autovacuum_enabled = 0)',
    )
    const check = await doctor.found('autovacuum')
    assert.match(
      `${check?.status}: ${check?.message}`,
      /^warning: off for _private_jobs, audit_logs, usage_hours: /,
    )
    await follow('autovacuum', check?.todo)
  })

  test('autovacuum that is off for the server is a warning, and so are its statistics', async () => {
    for (const setting of ['autovacuum', 'track_counts']) {
      await run(`alter system set ${setting} = off`, 'select pg_reload_conf()')
      const check = await doctor.found('autovacuum')
      assert.match(`${check?.status}: ${check?.message}`, new RegExp(`^warning: ${setting} off: `))
      assert.match(check?.todo ?? '', new RegExp(`${setting} = on`))
      await run(`alter system reset ${setting}`, 'select pg_reload_conf()')
    }
    assert.equal((await doctor.found('autovacuum'))?.status, 'ok')
  })
})
