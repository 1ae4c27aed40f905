import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import {
  cleanUp,
  type InstallationPlace,
  kill,
  makePlace,
  PERSONS,
  type Person,
  query,
  startService,
  stop,
} from '../../../../test/embedded-service.ts'
import { until } from '../../../../test/until.ts'
import { processesIn } from './processes.ts'

describe('the embedded Postgres under any account', () => {
  const [person] = PERSONS as [Person]
  let place: InstallationPlace
  before(async () => {
    place = makePlace(person)
    const service = startService(person, place)
    await query((await service.up).connection, "CREATE TABLE kept AS SELECT 'from before' AS note")
    await stop(service)
  })
  after(() => cleanUp(place))

  test('a server that still runs with other settings is replaced', async () => {
    const first = startService(person, place)
    const { pid } = await first.up
    await kill(first)
    appendFileSync(join(place.dataDir, 'postgresql.conf'), 'max_connections = 7\n')
    const second = startService(person, place)
    const { connection, pid: other } = await second.up
    assert.notEqual(other, pid)
    assert.deepEqual(await query(connection, 'SHOW max_connections'), [{ max_connections: '100' }])
    await stop(second)
  })

  test('Postgres comes back if another process stops it while clients hold it open', async () => {
    const service = startService(person, place)
    const { connection, pid } = await service.up
    const client = new pg.Client(connection)
    const cut = new Promise(resolve => client.on('error', resolve))
    await client.connect()
    process.kill(pid, 'SIGTERM')
    await cut
    await until(() => service.logged.includes('Postgres is back'))
    await query(connection, 'SELECT 1')
    await stop(service)
  })

  test('a lost password file costs only the password', async () => {
    const passwordFile = join(place.dataDir, 'postgres-password')
    const lost = readFileSync(passwordFile, 'utf8')
    const first = startService(person, place)
    await first.up
    await kill(first)
    rmSync(passwordFile)
    const second = startService(person, place)
    const { connection } = await second.up
    assert.notEqual(readFileSync(passwordFile, 'utf8'), lost)
    assert.deepEqual(await query(connection, 'SELECT note FROM kept'), [{ note: 'from before' }])
    await stop(second)
  })

  test('a service stopped while it restarts Postgres leaves none running', async () => {
    const service = startService(person, place)
    const { pid, dataDirectory } = await service.up
    process.kill(pid, 'SIGKILL')
    await until(() => service.logged.includes('Postgres ended unexpectedly; restarting it'))
    await stop(service)
    assert.deepEqual(processesIn(dataDirectory), [])
  })

  test('a database of another major version is refused with what to do, and is not changed', async () => {
    const clusters = join(place.dataDir, 'postgres')
    renameSync(join(clusters, '18'), join(clusters, '17'))
    const service = startService(person, place)
    const { name, message } = await service.refusal
    assert.equal(name, 'EmbeddedRefused')
    assert.match(message, /made by Postgres 17; this release of Keyrail has Postgres 18.*keyrail backup/s)
    await service.ended
    assert.equal(existsSync(join(clusters, '18')), false)
    renameSync(join(clusters, '17'), join(clusters, '18'))
    const again = startService(person, place)
    assert.deepEqual(await query((await again.up).connection, 'SELECT note FROM kept'), [
      { note: 'from before' },
    ])
    await stop(again)
  })

  test('a cluster whose creation was killed is created again', async () => {
    const fresh = { ...place, dataDir: join(dirname(place.dataDir), 'broken off') }
    const first = startService(person, fresh)
    const creating = join(fresh.dataDir, 'postgres', `creating-${first.child.pid}`)
    await until(() => existsSync(join(creating, 'PG_VERSION')))
    await kill(first)
    const second = startService(person, fresh)
    const { connection } = await second.up
    await query(connection, 'SELECT 1')
    assert.equal(existsSync(creating), false)
    await stop(second)
  })
})
