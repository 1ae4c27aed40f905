import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { encryptionKey } from '../../../../test/encryption-key.ts'
import { ask, Installation, urlOf } from '../../../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../../../test/scratch.ts'
import { until } from '../../../../test/until.ts'
import { choresOf } from '../../../hall.ts'
import { createLog } from '../../observe/log.ts'
import type { Connection } from '../connection.ts'
import { migrate } from '../migrate/migrate.ts'
import { Errands } from '../pool/errands.ts'
import { doChores } from '../upkeep.ts'
import { missingRights } from './service-rights.ts'

const token = 'y'.repeat(32)

/** Roles belong to the whole cluster, so this has its own. */
describe('a login that serves without owning the tables', () => {
  let cluster: ScratchCluster
  let owner: Connection
  let service: Connection
  const installation = new Installation()
  before(async () => {
    cluster = await startScratchCluster()
    const { code, out } = await installation.start(['roles', '--service', 'server', '--database', 'two'])
      .ended
    assert.equal(code, 0)
    // As psql would run it: CREATE DATABASE takes no transaction.
    for (const statement of out.split(';\n')) await run(cluster.connection, statement)
    for (const name of ['keyrail_owner', 'server'])
      await run(cluster.connection, `alter role ${name} password 'secret'`)
    const one = { ...cluster.connection, password: 'secret', database: 'two' }
    owner = { ...one, user: 'keyrail_owner' }
    service = { ...one, user: 'server' }
    await migrate(owner)
  })
  after(async () => {
    await installation.remove()
    await cluster.remove()
  })

  async function run(connection: Connection, text: string, values: unknown[] = []) {
    const client = new pg.Client(connection)
    await client.connect()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }

  test('it serves, mails, sweeps and is found healthy; the audit log is beyond it', async () => {
    const env = {
      DATABASE_URL: urlOf(service),
      SERVICE_ENCRYPTION_KEY: encryptionKey,
      SERVICE_BOOTSTRAP_TOKEN: token,
      SERVICE_DASHBOARD: 'off',
    }
    const serving = await installation.serve(env)
    const made = await ask(`${serving.url}/v1/workspaces`, { token, body: { name: 'Acme', slug: 'acme' } })
    assert.equal(made?.status, 201)
    const { key } = made?.body.secret_key ?? {}
    assert.equal((await ask(`${serving.url}/v1/projects`, { token: key }))?.status, 200)
    const project = await ask(`${serving.url}/v1/projects`, {
      token: key,
      body: { name: 'Pay', slug: 'pay' },
    })
    assert.equal(project?.status, 201)
    const chain = await ask(`${serving.url}/v1/audit_logs/chain`, { token: key })
    assert.equal(chain?.body.valid, true)
    const signUp = { email: 'ann@example.com', password: 'four quiet otters swim' }
    assert.equal((await ask(`${serving.url}/v1/auth/users`, { body: signUp }))?.status, 202)
    const waiting = `select from graphile_worker._private_jobs`
    await until(async () => (await run(owner, waiting)).length === 0)
    const line = /mail is not being sent/
    assert.doesNotMatch(serving.output.out, line)

    await run(owner, `update audit_heads set verification_due_at = now() - interval '1 day'`)
    const log = createLog('silent')
    await doChores(
      service,
      choresOf({ signing: null, connection: service, errands: new Errands(service), log }),
      log,
    )
    const verified = await run(
      owner,
      'select verified_at is not null as done, first_bad_seq from audit_heads',
    )
    assert.deepEqual(verified, [{ done: true, first_bad_seq: null }])

    const { out } = await installation.start(['doctor', '--json'], env).ended
    const roles = JSON.parse(out).checks.find(({ name }: { name: string }) => name === 'roles')
    assert.match(roles.message, /does not own the tables/)
    assert.equal(roles.status, 'ok')

    for (const statement of [
      `update audit_logs set payload = '{}'`,
      'delete from audit_logs',
      'delete from audit_addresses',
      'delete from audit_callers',
      'delete from audit_heads',
      'truncate audit_logs',
      'alter table audit_logs disable trigger all',
      'drop table audit_logs',
      'alter table audit_logs owner to server',
      'delete from keyrail_migrations',
      'set role keyrail_owner',
    ]) {
      await assert.rejects(run(service, statement), { code: '42501' }, statement)
    }
    // Nor through the role of requests, beyond the head of the workspace that it names.
    for (const statement of ['update audit_logs set seq = 0', 'delete from audit_logs'])
      await assert.rejects(run(service, `set role keyrail_app; ${statement}`), { code: '42501' }, statement)

    serving.child.kill('SIGTERM')
    assert.equal((await serving.ended).code, 0)
  })

  test('on a database without tables it asks for the owner’s migration, not for more rights', async () => {
    await run(cluster.connection, 'create database fresh owner keyrail_owner')
    const fresh = { ...service, database: 'fresh' }
    await assert.rejects(migrate(fresh), /does not own it\. Run keyrail migrate as keyrail_owner\.$/)
    const env = { DATABASE_URL: urlOf(fresh), SERVICE_ENCRYPTION_KEY: encryptionKey }
    const { out } = await installation.start(['doctor'], env).ended
    assert.match(out, /^fault +rights .*\n.*run keyrail migrate with the DATABASE_URL of keyrail_owner\.$/m)
    assert.doesNotMatch(out, /grant .* to server/)
  })

  test('it does not migrate, and says who does; a command of the owner says whose URL it needs', async () => {
    const newest = await run(
      owner,
      'delete from keyrail_migrations where id = (select max(id) from keyrail_migrations) returning name',
    )
    await assert.rejects(migrate(service), /Run keyrail migrate as keyrail_owner/)
    await run(owner, 'insert into keyrail_migrations (name, run_on) values ($1, now())', [newest[0]?.name])
    const env = { DATABASE_URL: urlOf(service), SERVICE_ENCRYPTION_KEY: encryptionKey }
    const [{ id }] = (await run(owner, 'select id from workspaces')) as [{ id: string }]
    const { code, err } = await installation.start(['workspace', 'delete', id, '--yes'], env).ended
    assert.equal(code, 1)
    assert.match(err, /the owner's DATABASE_URL/)
    assert.equal(
      (
        await installation.start(['workspace', 'delete', id, '--yes'], { ...env, DATABASE_URL: urlOf(owner) })
          .ended
      ).code,
      0,
    )
  })

  test('what a later release adds is granted by its migration', async () => {
    const client = new pg.Client(owner)
    await client.connect()
    assert.deepEqual(await missingRights(client), [])
    await client.query('create table later (workspace_id uuid); alter table later enable row level security')
    assert.equal((await missingRights(client)).length, 2)
    await migrate(owner)
    assert.deepEqual(await missingRights(client), [])
    await run(service, 'insert into later values (gen_random_uuid())')
    assert.equal((await run(service, 'select from later')).length, 1)
    await client.end()
  })
})
