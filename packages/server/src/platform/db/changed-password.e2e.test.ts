import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { encryptionKey } from '../../../test/encryption-key.ts'
import { ask, Installation, urlOf } from '../../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../../test/scratch.ts'
import { until } from '../../../test/until.ts'
import { makeOwnKey } from './dump/age.ts'

const token = 'p'.repeat(32)

/** Roles belong to the whole cluster, so this has its own. */
describe('a password that changes in the file of DATABASE_URL_FILE', () => {
  let cluster: ScratchCluster
  const installation = new Installation()
  const file = join(installation.place.temp, 'database-url')
  const backups = join(installation.place.temp, 'backups')
  const env = {
    DATABASE_URL_FILE: file,
    SERVICE_ENCRYPTION_KEY: encryptionKey,
    SERVICE_BOOTSTRAP_TOKEN: token,
    SERVICE_DASHBOARD: 'off',
    SERVICE_METRICS_PORT: '0',
  }
  const rotate = async (password: string, isWritten = true) => {
    await run(`alter role rotated password '${password}'`)
    if (isWritten) write(password)
    await run(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotated'`)
  }
  // Only the account that starts the service reads it, as a secret is mounted.
  const write = (password: string) =>
    writeFileSync(
      file,
      `${urlOf({ ...cluster.connection, user: 'rotated', password, database: 'rotated' })}\r\n`,
      {
        mode: 0o600,
      },
    )
  const run = async (text: string) => {
    const client = new pg.Client(cluster.connection)
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  before(async () => {
    cluster = await startScratchCluster()
    await run(`create role rotated login createrole createdb password 'first'`)
    await run('create database rotated owner rotated')
    write('first')
  })
  after(async () => {
    await installation.remove()
    await cluster.remove()
  })

  test('is used by every connection that opens then, without a restart; until then 503', async () => {
    const serving = await installation.serve(env)
    const body = { name: 'Acme', slug: 'acme' }
    const made = await ask(`${serving.url}/v1/workspaces`, { token, body })
    const key = made?.body.secret_key.key
    const statusOf = async (path: string) => (await ask(`${serving.url}${path}`, { token: key }))?.status
    assert.equal(await statusOf('/v1/projects'), 200)

    await rotate('second', false)
    await until(async () => (await statusOf('/v1/projects')) === 503)
    assert.equal(await statusOf('/readyz'), 503)

    write('second')
    await until(async () => (await statusOf('/v1/projects')) === 200)
    await until(async () => (await statusOf('/readyz')) === 200)
    assert.equal(await statusOf('/v1/audit_logs/chain'), 200)
    const names = async () => {
      const rows = await run(
        `select distinct application_name as name from pg_stat_activity where usename = 'rotated'`,
      )
      return rows.map(({ name }) => name)
    }
    for (const name of ['pool', 'hints', 'mail'])
      await until(async () => (await names()).some(one => one.startsWith(`keyrail ${name}`)))

    serving.child.kill('SIGTERM')
    assert.equal((await serving.ended).code, 0)
  })

  test('is used by a backup that repeats', async () => {
    await installation.start(['migrate'], env).ended
    mkdirSync(backups)
    const { recipient } = await makeOwnKey([])
    const args = ['backup', backups, '--every', '1s', '--recipient', recipient]
    const repeated = installation.start(args, env)
    const checked = () => readdirSync(backups).filter(name => name.endsWith('.keyrail.age'))
    await until(() => checked().length > 0)
    await rotate('third')
    const before = checked()
    await until(() => checked().filter(name => !before.includes(name)).length > 0)
    repeated.child.kill('SIGTERM')
    await repeated.ended
  })
})
