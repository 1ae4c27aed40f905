import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import {
  cleanUp,
  FAST_PLACE,
  type InstallationPlace,
  isRoot,
  kill,
  makePlace,
  PERSONS,
  query,
  queryUntilAnswered,
  startService,
  stop,
  type Up,
} from '../../../../test/embedded-service.ts'
import { until } from '../../../../test/until.ts'
import { processesIn } from './processes.ts'

for (const person of PERSONS) {
  describe(`the embedded Postgres, started by ${person.name}`, () => {
    let place: InstallationPlace
    /** As root, the listening account's group may pass through to the socket. */
    const socketMode = person.name === 'root' ? 0o710 : 0o700
    /** Most tests share one cluster, one after another: creating it is the slow part. */
    before(() => {
      place = makePlace(person)
    })
    after(() => cleanUp(place))

    test('the first start gives a durable UTF-8 database with a password and a private socket', async () => {
      const service = startService(person, place)
      const { connection, dataDirectory } = await service.up
      const [facts] = await query(
        connection,
        `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
                current_setting('full_page_writes') AS pages, current_setting('data_checksums') AS checksums,
                current_setting('listen_addresses') AS listens, current_setting('password_encryption') AS passwords,
                current_setting('TimeZone') AS zone, pg_encoding_to_char(encoding) AS encoding,
                datcollate AS collation, datctype AS ctype
         FROM pg_database WHERE datname = current_database()`,
      )
      assert.deepEqual(facts, {
        fsync: 'on',
        commit: 'on',
        pages: 'on',
        checksums: 'on',
        listens: '',
        passwords: 'scram-sha-256',
        zone: 'UTC',
        encoding: 'UTF8',
        collation: 'C',
        ctype: 'C',
      })
      await assert.rejects(query({ ...connection, password: 'wrong' }, 'SELECT 1'), { code: '28P01' })
      assert.equal(statSync(connection.host).mode & 0o777, socketMode)
      assert.equal(statSync(dataDirectory).mode & 0o777, 0o700)
      assert.equal(statSync(join(place.dataDir, 'postgres-password')).mode & 0o777, 0o600)
      assert.notEqual(statSync(dataDirectory).uid, 0)
      await query(connection, 'CREATE TABLE kept (note text)')
      await stop(service)
      assert.deepEqual(processesIn(dataDirectory), [])
    })

    test('a killed service leaves Postgres running, and the next start keeps it', async () => {
      const first = startService(person, place)
      const { connection, pid } = await first.up
      await query(connection, "INSERT INTO kept VALUES ('before the kill')")
      await kill(first)
      const second = startService(person, place)
      const again = await second.up
      assert.equal(again.pid, pid)
      assert.deepEqual(await query(again.connection, 'SELECT note FROM kept'), [{ note: 'before the kill' }])

      // An adopted server is watched, restarted and in the end stopped like our own.
      process.kill(pid, 'SIGKILL')
      await until(() => second.logged.includes('Postgres is back'))
      assert.deepEqual(await query(again.connection, 'SELECT note FROM kept'), [{ note: 'before the kill' }])
      await stop(second)
      assert.deepEqual(processesIn(again.dataDirectory), [])
    })

    test('a killed Postgres is restarted, even with busy backends', async () => {
      const service = startService(person, place)
      const { connection, pid, dataDirectory } = await service.up
      const busy = new pg.Client(connection)
      busy.on('error', () => {})
      await busy.connect()
      // Counting does not check the postmaster, so this backend outlives it and must be ended.
      const counting = busy
        .query('SELECT count(*) FROM generate_series(1, 10000000000)')
        .catch(() => 'cut off')
      await until(() => processesIn(dataDirectory).length > 0)
      process.kill(pid, 'SIGKILL')
      assert.equal(await counting, 'cut off')
      assert.deepEqual(await queryUntilAnswered(connection, 'SELECT note FROM kept'), [
        { note: 'before the kill' },
      ])
      await stop(service)
    })

    test('the next start works if both were killed and backends are still busy', async () => {
      const first = startService(person, place)
      const { connection, pid, dataDirectory } = await first.up
      const busy = new pg.Client(connection)
      busy.on('error', () => {})
      await busy.connect()
      busy.query('SELECT count(*) FROM generate_series(1, 10000000000)').catch(() => {})
      await kill(first)
      process.kill(pid, 'SIGKILL')
      const second = startService(person, place)
      const again = await second.up
      assert.notEqual(again.pid, pid)
      assert.deepEqual(await query(again.connection, 'SELECT note FROM kept'), [{ note: 'before the kill' }])
      await stop(second)
      assert.deepEqual(processesIn(dataDirectory), [])
    })

    test('a second service is refused with the pid of the first, which keeps running', async () => {
      const first = startService(person, place)
      const { connection } = await first.up
      const second = startService(person, place)
      const { name, message } = await second.refusal
      assert.equal(name, 'EmbeddedRefused')
      assert.match(message, new RegExp(`^Process ${first.child.pid} already runs Keyrail on `))
      await second.ended
      assert.deepEqual(await query(connection, 'SELECT 1 AS one'), [{ one: 1 }])
      await stop(first)
    })

    test('a postmaster.pid with the pid of another program does not stop the start', async () => {
      const other = spawn('sleep', ['60'], person.switched ? { uid: person.uid, gid: person.gid } : {})
      const dataDirectory = join(place.dataDir, 'postgres', '18')
      writeFileSync(
        join(dataDirectory, 'postmaster.pid'),
        `${other.pid}\n${dataDirectory}\n1700000000\n5432\n/tmp\n\n  1234567 99\nready   \n`,
      )
      const service = startService(person, place)
      await service.up
      await stop(service)
      assert.equal(other.exitCode ?? other.signalCode, null)
      other.kill()
    })

    test('two data directories with long paths, side by side, have separate sockets', async () => {
      const places = ['one', 'two'].map(name => ({
        ...place,
        dataDir: join(dirname(place.dataDir), 'a-long-name-'.repeat(10), name),
      }))
      const services = places.map(each => startService(person, each))
      const ups: Up[] = await Promise.all(services.map(({ up }) => up))
      const hosts = ups.map(({ connection }) => connection.host)
      for (const [index, { connection, dataDirectory }] of ups.entries()) {
        assert.match(connection.host, /^\/tmp\/keyrail-socket-/)
        assert.equal(statSync(connection.host).mode & 0o777, socketMode)
        assert.deepEqual(await query(connection, 'SELECT 1 AS one'), [{ one: 1 }])
        const other = { ...connection, host: hosts[1 - index] ?? '' }
        await assert.rejects(query(other, 'SELECT 1'), { code: '28P01' }, 'each has its own password')
        assert.ok(dataDirectory.startsWith(places[index]?.dataDir ?? 'missing'))
      }
      const [first, second] = services
      assert.ok(first && second)
      await kill(first)
      const again = startService(person, places[0] ?? place)
      assert.equal((await again.up).connection.host, hosts[0])
      await Promise.all([stop(again), stop(second)])
      assert.deepEqual(
        hosts.map(host => existsSync(host)),
        [false, false],
      )
    })
  })
}

if (isRoot) {
  test('below a closed home, root keeps the database elsewhere and logs it', async () => {
    const temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
    chmodSync(temp, 0o755)
    const home = join(temp, 'home')
    mkdirSync(home, { mode: 0o700 })
    const place = { temp, dataDir: join(home, 'checkout', 'data'), stateDirectory: join(temp, 'state') }
    const [root] = PERSONS
    assert.ok(root)
    const first = startService(root, place)
    const { connection, dataDirectory } = await first.up
    assert.ok(dataDirectory.startsWith(place.stateDirectory))
    assert.match(
      first.logged[0] ?? '',
      /cannot reach .*\/home\/checkout\/data: the database is in .*\/state\/[0-9a-f]{16}$/,
    )
    await query(connection, 'CREATE TABLE kept ()')
    await stop(first)
    const second = startService(root, place)
    await query((await second.up).connection, 'SELECT FROM kept')
    await stop(second)
    cleanUp(place)
  })
}
