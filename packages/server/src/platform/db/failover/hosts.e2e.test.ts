import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { freePort } from '../../../../test/free-port.ts'
import { startHarness } from '../../../../test/harness.ts'
import { type Pair, startPair } from '../../../../test/standby.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { until } from '../../../../test/until.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { serviceBudgets } from '../../budgets.ts'
import {
  type Connection,
  clientConfig,
  connect,
  connectionFromUrl,
  patientAtStart,
  placeOf,
} from '../connection.ts'
import { splitHosts } from './host-list.ts'
import { NoPrimary, readHostStates } from './hosts.ts'

let pair: Pair
before(async () => {
  pair = await startPair()
})
after(() => pair.remove())

/** Both servers as a list in this order. */
function listOf(...names: ('primary' | 'standby')[]): Connection {
  const hosts = names.map(name => {
    const { host = '', port = 0 } = pair.servers[name]
    return { host, port }
  })
  return patientAtStart({ ...pair.servers.primary, hosts })
}
const isStandby = async (client: pg.ClientBase) =>
  (await client.query('select pg_is_in_recovery() as yes')).rows[0].yes

test('a list is read with its default port and literal addresses, and a bad host makes it empty', () => {
  const first = { host: 'a.example', port: 5432 }
  assert.deepEqual(splitHosts('postgres://u:p,w@a.example,[::1]:5433/db?x=1,2'), {
    hosts: [first, { host: '::1', port: 5433 }],
    first: 'postgres://u:p,w@a.example/db?x=1,2',
  })
  assert.equal(splitHosts('postgres://u:p,w@a.example/db'), null)
  assert.deepEqual(splitHosts('postgres://a.example,/db')?.hosts, [])
  const connection = connectionFromUrl('postgres://u:p@a.example,b.example:5433/db')
  assert.equal(placeOf(connection), 'a.example:5432, b.example:5433')
  assert.deepEqual([connection.user, connection.password, connection.database], ['u', 'p', 'db'])
})

test('connections and pools go to the primary, wherever it stands in the list', async () => {
  for (const list of [listOf('standby', 'primary'), listOf('primary', 'standby')]) {
    const client = await connect(list, 'test')
    assert.equal(await isStandby(client), false)
    await client.end()
    const pool = new pg.Pool({ ...clientConfig(list, 'test'), pipeline: false, max: 5 } as pg.PoolConfig)
    assert.deepEqual(
      new Set(
        await Promise.all(
          [1, 2, 3, 4, 5]
            .map(() => pool.query('select pg_is_in_recovery()'))
            .map(async one => (await one).rows[0].pg_is_in_recovery),
        ),
      ),
      new Set([false]),
    )
    await pool.end()
  }
})

test('a host that is away is passed over, and without a primary the error names each host', async () => {
  const { user, password, database } = pair.connection
  const away = await freePort()
  const list = patientAtStart(
    connectionFromUrl(
      `postgres://${user}:${encodeURIComponent(String(password))}@127.0.0.1:${away},127.0.0.1:${pair.connection.port}/${database}`,
    ),
  )
  const client = await connect(list, 'test')
  await client.end()
  pair.leadTo('standby')
  await assert.rejects(connect(list, 'test'), error => {
    assert.ok(error instanceof NoPrimary)
    assert.match(error.message, new RegExp(`127.0.0.1:${away}: .*ECONNREFUSED`))
    assert.match(error.message, new RegExp(`127.0.0.1:${pair.connection.port} is a standby`))
    return true
  })
  pair.leadTo('primary')
  assert.deepEqual(
    (await readHostStates(listOf('standby', 'primary'))).map(({ state }) => state),
    ['standby', 'primary'],
  )
})

test('of two primaries a process that starts takes the one that was promoted last', async () => {
  const own = await startPair()
  after(() => own.remove())
  await own.on('standby', 'select pg_promote()')
  const hosts = (['primary', 'standby'] as const).map(name => {
    const { host = '', port = 0 } = own.servers[name]
    return { host, port }
  })
  for (const list of [hosts, hosts.toReversed()]) {
    const client = await connect(patientAtStart({ ...own.servers.primary, hosts: list }), 'test')
    const { rows } = await client.query(`select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline`)
    assert.deepEqual(rows, [{ timeline: '00000002' }])
    await client.end()
  }
  // Neither is newer. They have the same password, as two standbys of one primary do.
  const { user = '', password } = pair.connection
  await own.on(
    'primary',
    `alter role ${pg.escapeIdentifier(user)} password ${pg.escapeLiteral(String(password))}`,
  )
  const { host = '', port = 0 } = pair.servers.primary
  const list = { ...pair.servers.primary, hosts: [hosts[0] as (typeof hosts)[number], { host, port }] }
  await assert.rejects(connect(patientAtStart(list), 'test'), /two hosts of the list are primaries/)
  const twice = { ...pair.servers.primary, hosts: [1, 2].map(() => ({ host, port })) }
  await (await connect(patientAtStart(twice), 'test')).end()
})

test('a service goes over to the promoted standby by itself', async () => {
  // Requests fail as soon as in production.
  const budgets = { ...serviceBudgets, connectMs: patientBudgets.connectMs }
  const place = { connection: listOf('primary', 'standby'), drop: async () => {} }
  const service = await startHarness({}, place, budgets)
  const isReady = async () => (await service.ask('GET', '/readyz')).status === 200
  await until(isReady)
  await pair.synchronous()
  const vendor = await makeVendor(service)
  await pair.failOver()
  await until(isReady)
  const make = () =>
    service.ask('POST', '/v1/projects', { token: vendor.live, body: { name: 'After', slug: 'after' } })
  let made = await make()
  await until(async () => {
    if (made.status === 503) made = await make()
    return made.status !== 503
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  assert.equal((await pair.on('standby', 'select pg_is_in_recovery() as yes'))[0].yes, false)
})
