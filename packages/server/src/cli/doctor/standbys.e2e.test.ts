import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { examinedOn } from '../../../test/examine.ts'
import { urlOf } from '../../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'
import { type Pair, startPair } from '../../../test/standby.ts'
import { until } from '../../../test/until.ts'
import { migrate } from '../../platform/db/migrate/migrate.ts'

describe('keyrail doctor and servers that follow the primary', () => {
  let pair: Pair
  let doctor: ReturnType<typeof examinedOn>
  before(async () => {
    pair = await startPair()
    doctor = examinedOn(pair.connection)
    await until(async () => (await pair.on('primary', 'select from pg_stat_replication')).length > 0)
  })
  after(async () => {
    await doctor.remove()
    await pair.remove()
  })
  async function waitFor(names: string) {
    await pair.on('primary', `alter system set synchronous_standby_names = '${names}'`)
    await pair.on('primary', 'select pg_reload_conf()')
    await until(
      async () =>
        (await pair.on('primary', 'show synchronous_standby_names'))[0].synchronous_standby_names === names,
    )
  }

  test('a synchronous standby that is there is ok, and another one that receives is not enough', async () => {
    await pair.synchronous()
    assert.equal((await doctor.found('standbys'))?.status, 'ok')
    try {
      await waitFor('ANY 2 (*)')
      assert.match((await doctor.found('standbys'))?.message ?? '', /and 1 of 2 that must confirm is there/)
      await waitFor('another')
      const other = await doctor.found('standbys')
      assert.match(`${other?.status}: ${other?.message}`, /^fault: commits wait for another, and 0 of 1 /)
    } finally {
      // Or every later change waits for ever.
      await waitFor('*')
    }
  })

  test('a synchronous standby that is away is a fault, for a login that sees less too', async () => {
    await pair.on('primary', `create role plain login password 'secret'`)
    const env = { DATABASE_URL: urlOf({ ...pair.connection, user: 'plain', password: 'secret' }) }
    assert.equal((await doctor.found('standbys', env))?.status, 'ok')
    await pair.holdBack()
    for (const login of [{}, env]) {
      const away = await doctor.found('standbys', login)
      assert.match(`${away?.status}: ${away?.message}`, /^fault: .* every change gets 503$/)
      assert.match(away?.todo ?? '', /standby-lost\.md/)
    }
  })
})

/** Without a standby: what removes the log of a slot may remove what a standby still needs. */
describe('keyrail doctor and replication slots', () => {
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
  async function run(statement: string) {
    const client = new pg.Client(cluster.connection)
    await client.connect()
    await client.query(statement)
    await client.end()
  }

  test('a slot that nothing reads is a warning, and a fault once it keeps too much log', async () => {
    assert.equal(await doctor.found('slots'), undefined)
    await run(`select pg_create_physical_replication_slot('gone', true)`)
    const kept = await doctor.found('slots')
    assert.match(`${kept?.status}: ${kept?.message}`, /^warning: nothing reads gone, .* keeps \d+ MiB /)
    await run(`alter system set max_wal_size = '32MB'`)
    await run(`alter system set min_wal_size = '32MB'`)
    await run('select pg_reload_conf()')
    for (let segment = 0; segment < 4; segment++)
      await run(`select pg_logical_emit_message(false, '', ''), pg_switch_wal()`)
    const full = await doctor.found('slots')
    assert.match(`${full?.status}: ${full?.message}`, /^fault: nothing reads gone, .* \(extended\)$/)
    const drop = /select pg_drop_replication_slot\('gone'\);/.exec(full?.todo ?? '')?.[0] ?? assert.fail()
    await run(drop)
    assert.equal(await doctor.found('slots'), undefined)
  })

  test('a slot that has lost its log is a warning that says so', async () => {
    await run(`select pg_create_physical_replication_slot('late', true)`)
    await run(`alter system set max_slot_wal_keep_size = '16MB'`)
    await run('select pg_reload_conf()')
    for (let segment = 0; segment < 4; segment++)
      await run(`select pg_logical_emit_message(false, '', ''), pg_switch_wal()`)
    await run('checkpoint')
    const lost = await doctor.found('slots')
    assert.match(`${lost?.status}: ${lost?.message}`, /^warning: late has lost the log/)
    await run(`select pg_drop_replication_slot('late')`)
    await run('alter system reset max_slot_wal_keep_size')
    await run('select pg_reload_conf()')
  })
})
