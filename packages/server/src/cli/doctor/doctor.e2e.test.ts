import assert from 'node:assert/strict'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, type TestDatabase, testCluster } from '../../../test/database.ts'
import { examine } from '../../../test/examine.ts'
import { Installation, urlOf } from '../../../test/installation.ts'
import type { Connection } from '../../platform/db/connection.ts'
import { migrations } from '../../platform/db/migrate/migrate.ts'
import { rolesSql } from '../../platform/db/roles/roles.ts'
import type { Check } from './check.ts'

const summary = (checks: Check[]) => checks.map(({ name, status }) => `${name} ${status}`)

describe('keyrail doctor and the embedded Postgres', () => {
  let installation: Installation
  before(() => {
    // Whether this checkout is built depends on what ran before.
    installation = new Installation({ SERVICE_DASHBOARD: 'off' })
  })
  after(() => installation.remove())

  test('before the first start it reports no fault and makes nothing', async () => {
    const { code, status, checks } = await examine(installation)
    assert.deepEqual([code, status], [0, 'warning'])
    assert.deepEqual(summary(checks), [
      'configuration ok',
      'process ok',
      'data directory warning',
      'bootstrap token warning',
      'encryption key warning',
      'sign-up ok',
      'dashboard ok',
      'mail ok',
      'database warning',
    ])
    assert.equal((await examine(installation)).found('data directory')?.status, 'warning')
  })

  test('it works beside a running service and without one, and leaves no Postgres running', async () => {
    const service = await installation.serve()
    const beside = await examine(installation)
    assert.match(beside.found('database')?.message ?? '', /embedded, under a running service/)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)

    const { code, status, checks, found } = await examine(installation)
    assert.deepEqual([code, status], [0, 'ok'])
    assert.deepEqual(summary(checks), [
      'configuration ok',
      'process ok',
      'data directory ok',
      'bootstrap token ok',
      'encryption key ok',
      'sign-up ok',
      'dashboard ok',
      'mail ok',
      'database ok',
      'roles ok',
      'migrations ok',
      'row security ok',
      'triggers ok',
      'autovacuum ok',
      'mail queue ok',
      'clock ok',
      'sealed secrets ok',
    ])
    assert.match(found('database')?.message ?? '', /embedded, started for this check/)
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('a file that others can read or write is a fault, with the command that fixes it', async () => {
    const token = join(installation.dataDir, 'bootstrap-token')
    chmodSync(token, 0o644)
    const readable = await examine(installation)
    assert.equal(readable.code, 1)
    assert.equal(readable.found('data directory')?.todo, `chmod 600 ${token}`)
    chmodSync(token, 0o600)
    chmodSync(installation.dataDir, 0o777)
    const writable = await examine(installation)
    assert.equal(writable.found('data directory')?.todo, `chmod go-w ${installation.dataDir}`)
    chmodSync(installation.dataDir, 0o755)
    writeFileSync(token, 'short')
    const damaged = await examine(installation)
    assert.equal(damaged.found('bootstrap token')?.status, 'fault')
  })

  test('a setting’s secret file may be a link, but others should not be able to read it', async () => {
    const file = join(installation.place.temp, 'token-file')
    const link = join(installation.place.temp, 'token-link')
    writeFileSync(file, 'a-token-of-the-operator-0123456789', { mode: 0o640 })
    symlinkSync(file, link)
    const env = { SERVICE_BOOTSTRAP_TOKEN_FILE: link }
    assert.equal((await examine(installation, env)).found('secret files'), undefined)
    chmodSync(file, 0o644)
    const { code, found } = await examine(installation, env)
    assert.deepEqual([code, found('secret files')?.status], [0, 'warning'])
    assert.match(
      found('secret files')?.message ?? '',
      /of SERVICE_BOOTSTRAP_TOKEN_FILE can be read by every account/,
    )
  })

  test('open sign-up is a warning if other machines reach the service', async () => {
    const beyond = { SERVICE_HOST: '0.0.0.0' }
    const open = (await examine(installation, beyond)).found('sign-up')
    assert.equal(open?.status, 'warning')
    assert.match(open?.todo ?? '', /SERVICE_SIGN_UP to invited/)
    for (const SERVICE_SIGN_UP of ['invited', 'closed']) {
      assert.equal(
        (await examine(installation, { ...beyond, SERVICE_SIGN_UP })).found('sign-up')?.status,
        'ok',
      )
    }
  })

  test('a service behind a proxy is reachable at its public address', async () => {
    const proxied = { SERVICE_HOST: '127.0.0.1', SERVICE_PUBLIC_URL: 'https://keys.example.com' }
    const open = (await examine(installation, proxied)).found('sign-up')
    assert.deepEqual(
      [open?.status, open?.message],
      ['warning', 'open: everyone who reaches keys.example.com can make an account and workspaces'],
    )
    const invited = { ...proxied, SERVICE_SIGN_UP: 'invited' }
    assert.equal((await examine(installation, invited)).found('sign-up')?.status, 'ok')
    const local = { ...proxied, SERVICE_PUBLIC_URL: 'http://[::1]:8080' }
    assert.equal((await examine(installation, local)).found('sign-up')?.status, 'ok')
  })

  test('a proxy in front that is not trusted is a warning', async () => {
    const proxied = { SERVICE_PUBLIC_URL: 'https://keys.example.com' }
    const unknown = (await examine(installation, proxied)).found('proxies')
    assert.equal(unknown?.status, 'warning')
    assert.match(unknown?.todo ?? '', /SERVICE_TRUST_PROXY/)
    const trusted = { ...proxied, SERVICE_TRUST_PROXY: '1' }
    assert.equal((await examine(installation, trusted)).found('proxies')?.status, 'ok')
    assert.equal((await examine(installation, {})).found('proxies'), undefined)
  })

  test('a trusted network that holds more than proxies is a warning that names it', async () => {
    const proxiesOf = async (networks: string) =>
      (await examine(installation, { SERVICE_TRUST_PROXY: networks })).found('proxies')
    const narrow = await proxiesOf('10.42.0.0/16,2001:db8::/32,::ffff:192.0.0.0/112')
    assert.deepEqual(
      [narrow?.status, narrow?.message],
      ['ok', 'trusted in 10.42.0.0/16, 2001:db8::/32, 192.0.0.0/16'],
    )
    const wide = await proxiesOf('10.42.0.0/15,192.0.2.1,2000::/31')
    assert.equal(wide?.status, 'warning')
    assert.match(wide?.message ?? '', /^10\.42\.0\.0\/15, 2000::\/31 is trusted: /)
    assert.match(wide?.todo ?? '', /SERVICE_TRUST_PROXY/)
  })

  test('every configuration fault is one line, with exit code 1', async () => {
    const env = { SERVICE_PORT: 'x', SERVICE_TRUST_PROXY: '-1' }
    const { code, out } = await installation.start(['doctor'], env).ended
    assert.equal(code, 1)
    assert.match(out, /^fault +configuration +SERVICE_PORT must be /m)
    assert.match(out, /^fault +configuration +SERVICE_TRUST_PROXY must be /m)
  })
})

describe('keyrail doctor and an outside Postgres', () => {
  let database: TestDatabase
  let installation: Installation
  before(async () => {
    database = await makeDatabase(testCluster())
    installation = new Installation({ DATABASE_URL: urlOf(database.connection), SERVICE_DASHBOARD: 'off' })
  })
  after(async () => {
    await installation.remove()
    await database.drop()
  })
  async function run(connection: Connection, ...statements: string[]) {
    const client = new pg.Client(connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  /** The test server keeps nothing on its disk, and its login is a superuser. */
  const ofServer = ['durability', 'login', 'mail', 'roles']

  test('a healthy one is ok throughout; the data directory is not used', async () => {
    const { checks, found } = await examine(installation)
    assert.deepEqual(
      checks.filter(({ name, status }) => status !== 'ok' && !ofServer.includes(name)),
      [],
    )
    assert.equal(found('data directory')?.message, 'not used: DATABASE_URL is set')
    assert.match(found('migrations')?.message ?? '', new RegExp(`all ${migrations.length} are applied`))
  })

  test('an address in plain HTTP, open metrics and no drain delay are warnings', async () => {
    const { found } = await examine(installation, {
      SERVICE_PUBLIC_URL: 'http://keys.example.com',
      SERVICE_HOST: '0.0.0.0',
      SERVICE_METRICS_PORT: '9464',
    })
    for (const name of ['public URL', 'metrics', 'drain']) {
      assert.equal(found(name)?.status, 'warning', name)
      assert.ok(found(name)?.todo, name)
    }
  })

  test('one that cannot be reached is a fault', async () => {
    const { code, found } = await examine(installation, { DATABASE_URL: 'postgres://localhost:1/keyrail' })
    assert.equal(code, 1)
    assert.match(found('database')?.message ?? '', /cannot be reached/)
  })

  test('a missing migration is a fault, one from a newer release a warning', async () => {
    const newest = migrations.at(-1) ?? ''
    await run(database.connection, `delete from keyrail_migrations where name = '${newest}'`)
    const behind = await examine(installation)
    assert.equal(behind.code, 1)
    assert.deepEqual(behind.found('migrations'), {
      name: 'migrations',
      status: 'fault',
      message: `missing: ${newest}`,
      todo: 'keyrail migrate',
    })
    const insert = 'insert into keyrail_migrations (name, run_on) values'
    await run(database.connection, `${insert} ('${newest}', now()), ('9999_from_the_future', now())`)
    const ahead = await examine(installation)
    assert.equal(ahead.found('migrations')?.status, 'warning')
    assert.match(ahead.found('migrations')?.message ?? '', /9999_from_the_future/)
    await run(database.connection, `delete from keyrail_migrations where name like '9999%'`)
  })

  test('a clock that is more than 5 s off is a warning', async () => {
    const { database: name } = database.connection
    await run(
      database.connection,
      'create schema skew',
      `create function skew.clock_timestamp() returns timestamptz language sql as $$
         select pg_catalog.clock_timestamp() - interval '1 hour' $$`,
      `alter database ${name} set search_path = skew, pg_catalog, public`,
    )
    const { found } = await examine(installation)
    assert.equal(found('clock')?.status, 'warning')
    assert.match(found('clock')?.message ?? '', /clock is 3[56]\d\d\.\d s behind$/)
    await run(database.connection, `alter database ${name} reset search_path`, 'drop schema skew cascade')
  })

  test('a user that cannot become keyrail_app is a fault, with the SQL for an operator', async () => {
    const user = `plain_${database.connection.database}`
    await run(database.connection, `create role ${user} login password 'secret'`)
    const plain = urlOf({ ...database.connection, user, password: 'secret' })
    const { code, found } = await examine(installation, { DATABASE_URL: plain })
    assert.equal(code, 1)
    assert.equal(found('roles')?.todo, `have an operator run this once:\n${rolesSql(user)}`)
    assert.equal(found('migrations')?.status, 'fault', 'the user cannot read them either')
    await run(database.connection, `drop role ${user}`)
  })
})
