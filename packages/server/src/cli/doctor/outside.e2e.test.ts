import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { examine } from '../../../test/examine.ts'
import { freePort } from '../../../test/free-port.ts'
import { Installation, root, urlOf } from '../../../test/installation.ts'
import { startPgbouncer } from '../../../test/pgbouncer.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'
import { startPair } from '../../../test/standby.ts'
import { until } from '../../../test/until.ts'
import type { Connection } from '../../platform/db/connection.ts'
import { migrate } from '../../platform/db/migrate/migrate.ts'
import { connectionsOf } from '../../platform/db/pool/connection-need.ts'
import { rolesSql } from '../../platform/db/roles/roles.ts'

/** A separate server: these findings are about the whole server. */
describe('keyrail doctor and how an outside Postgres is set up', () => {
  let cluster: ScratchCluster
  let installation: Installation
  let owner: Connection
  const quiet = { SERVICE_DASHBOARD: 'off' }
  before(async () => {
    cluster = await startScratchCluster({ settings: { fsync: true, full_page_writes: true } })
    owner = { ...cluster.connection, user: 'plain_owner', password: 'secret', database: 'plain_owner' }
    await run(cluster.connection, `create role plain_owner login password 'secret'`)
    await run(cluster.connection, 'create database plain_owner owner plain_owner')
    await run(cluster.connection, rolesSql('plain_owner'))
    installation = new Installation({ ...quiet, DATABASE_URL: urlOf(owner) })
  })
  after(async () => {
    await installation.remove()
    await cluster.remove()
  })
  async function run(connection: Connection, ...statements: string[]) {
    const client = new pg.Client(connection)
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }

  test('a database whose schema public is closed is a fault with the GRANT, which works', async () => {
    const asOwner = `alter schema public owner to ${cluster.connection.user}`
    await run({ ...cluster.connection, database: 'plain_owner' }, asOwner)
    const { code, found } = await examine(installation)
    assert.equal(code, 1)
    const grant = 'grant usage, create on schema public to plain_owner;'
    assert.equal(found('rights')?.todo, `have an operator run this once:\n${grant}`)
    await assert.rejects(migrate(owner), (error: Error) => error.message.includes(grant))
    await run({ ...cluster.connection, database: 'plain_owner' }, grant)
    await migrate(owner)
    assert.equal((await examine(installation)).found('rights'), undefined)
  })

  test('a superuser is a warning, and a plain login is not', async () => {
    const { found } = await examine(installation)
    assert.equal(found('login')?.status, 'ok')
    const all = urlOf({ ...cluster.connection, database: 'plain_owner' })
    const asSuperuser = await examine(installation, { DATABASE_URL: all })
    assert.equal(asSuperuser.found('login')?.status, 'warning')
    assert.match(asSuperuser.found('login')?.todo ?? '', /keyrail roles/)
  })

  test('commits that do not wait for the disk are a fault that names the setting', async () => {
    assert.equal((await examine(installation)).found('durability')?.status, 'ok')
    await run(owner, 'alter role plain_owner set synchronous_commit = off')
    const { code, found } = await examine(installation)
    assert.deepEqual([code, found('durability')?.status], [1, 'fault'])
    assert.match(found('durability')?.todo ?? '', /synchronous_commit = on/)
    await run(owner, 'alter role plain_owner reset synchronous_commit')
  })

  test('transactions that may only read are a fault that names the setting', async () => {
    await run(owner, 'alter role plain_owner set default_transaction_read_only = on')
    const { code, found } = await examine(installation)
    assert.deepEqual([code, found('primary')?.status], [1, 'fault'])
    assert.match(found('primary')?.message ?? '', /default_transaction_read_only is on/)
    await run(owner, 'set default_transaction_read_only = off', 'alter role plain_owner reset all')
    assert.equal((await examine(installation)).found('primary')?.status, 'ok')
  })

  test('a standby for which no commit waits is a warning, and one that is waited for is none', async () => {
    assert.equal((await examine(installation)).found('standbys'), undefined)
    const pair = await startPair()
    try {
      const { connection } = pair
      const receives = async () => (await pair.on('primary', 'select from pg_stat_replication')).length > 0
      await until(receives)
      const standbys = async () =>
        (await examine(installation, { DATABASE_URL: urlOf(connection) })).found('standbys')
      assert.equal((await standbys())?.status, 'warning')
      assert.match((await standbys())?.todo ?? '', /synchronous_standby_names/)
      await pair.synchronous()
      assert.equal((await standbys())?.status, 'ok')
      await pair.on('primary', `alter role ${connection.user} set synchronous_commit = local`)
      assert.match((await standbys())?.message ?? '', /synchronous_commit is local/)
    } finally {
      await pair.remove()
    }
  })

  test('connections for no process are a fault, for one a warning', async () => {
    const limit = (most: number) => run(cluster.connection, `alter role plain_owner connection limit ${most}`)
    const need = connectionsOf(10)
    for (const [most, status] of [
      [need - 1, 'fault'],
      [2 * need - 1, 'warning'],
      [2 * need, 'ok'],
    ] as const) {
      await limit(most)
      const { found } = await examine(installation, { SERVICE_DATABASE_POOL: '10' })
      assert.equal(found('connections')?.status, status, String(most))
    }
    await limit(-1)
    const large = await examine(installation, { SERVICE_DATABASE_POOL: '200' })
    assert.equal(large.found('connections')?.status, 'fault')
  })

  test('a standby is a fault, and no other check fails because of it', async () => {
    const pair = await startPair()
    try {
      pair.leadTo('standby')
      const { connection } = pair
      const { checks, found } = await examine(installation, { DATABASE_URL: urlOf(connection) })
      assert.match(found('primary')?.todo ?? '', /the primary/)
      const faults = checks.filter(({ status }) => status === 'fault').map(({ name }) => name)
      assert.deepEqual(faults.toSorted(), ['durability', 'primary'])
    } finally {
      await pair.remove()
    }
  })

  test('a pooler of transactions is a fault, and serve refuses it with the reason', async () => {
    const pooler = await startPgbouncer(owner, 'transaction')
    try {
      for (const env of [
        { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: urlOf(owner) },
        { DATABASE_DIRECT_URL: pooler.url },
      ]) {
        const { found } = await examine(installation, env)
        assert.equal(found('pooler')?.status, 'fault')
        const { code, err } = await installation.start(['serve'], env).ended
        assert.equal(code, 1)
        assert.match(err, /pools transactions.*\n.*pool_mode = session/)
      }
    } finally {
      await pooler.stop()
    }
  })

  test('a pooler of sessions is none of these, and serves', async () => {
    const pooler = await startPgbouncer(owner, 'session')
    try {
      const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: urlOf(owner) }
      assert.equal((await examine(installation, env)).found('pooler'), undefined)
      const serving = await installation.serve(env)
      serving.child.kill('SIGTERM')
      assert.equal((await serving.ended).code, 0)
    } finally {
      await pooler.stop()
    }
  })

  test('each host of a list is named with its state, and one that is away is a warning', async () => {
    const pair = await startPair()
    const { user, password, database, port } = pair.connection
    const away = await freePort()
    const login = `${user}:${encodeURIComponent(String(password))}`
    const env = {
      DATABASE_URL: `postgres://${login}@127.0.0.1:${away},127.0.0.1:${port}/${database}`,
    }
    try {
      const { found } = await examine(installation, env)
      assert.equal(found('hosts')?.status, 'warning')
      assert.match(found('hosts')?.message ?? '', new RegExp(`:${away}: .*; 127.0.0.1:${port} is a primary$`))
      assert.equal(found('primary')?.status, 'ok')
      const migrated = await installation.start(['migrate'], env).ended
      assert.equal(migrated.code, 0, migrated.err)
      pair.leadTo('standby')
      const without = await examine(installation, env)
      assert.equal(without.code, 1)
      assert.match(without.found('database')?.message ?? '', new RegExp(`127.0.0.1:${port} is a standby`))
    } finally {
      await pair.remove()
    }
  })

  test('mail that goes into a folder is a warning beside an outside database', async () => {
    const { found } = await examine(installation)
    assert.equal(found('mail')?.status, 'warning')
    assert.match(found('mail')?.todo ?? '', /SERVICE_MAIL_URL/)
  })

  test('a reader that stops early ends in no stack trace', () => {
    const command = join(root, 'bin/keyrail.mjs')
    // `true` has closed its end before the first check is printed.
    const { stderr } = spawnSync('bash', ['-c', `"${process.execPath}" "${command}" doctor | true`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: installation.place.temp, ...installation.env },
    })
    assert.equal(stderr, '')
  })

  test('a misspelt setting is reported beside a fault', async () => {
    const env = { SERVICE_PORT: 'x', SERVICE_LOG_LEVLE: 'warn' }
    const { out } = await installation.start(['doctor'], env).ended
    assert.match(out, /^fault +configuration +SERVICE_PORT must be /m)
    assert.match(
      out,
      /^warning +configuration +SERVICE_LOG_LEVLE is not a setting; did you mean SERVICE_LOG_LEVEL/m,
    )
    const { err } = await installation.start(['serve'], env).ended
    assert.match(err, /SERVICE_LOG_LEVLE is not a setting/)
  })
})
