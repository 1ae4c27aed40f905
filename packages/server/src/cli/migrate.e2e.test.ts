import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { makeDatabase, testCluster } from '../../test/database.ts'
import { ask, Installation, urlOf } from '../../test/installation.ts'
import { connect } from '../platform/db/connection.ts'
import { migrate, migrations } from '../platform/db/migrate/migrate.ts'

describe('keyrail migrate', () => {
  const installation = new Installation()
  after(() => installation.remove())

  test('creates a missing database with the newest schema, and prints what it applied', async () => {
    const { code, out } = await installation.start(['migrate', '--json']).ended
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { applied: migrations, newest: migrations.at(-1) })
    assert.deepEqual(installation.postgresPids(), [])
  })

  test('run again beside a running service, it changes nothing', async () => {
    const service = await installation.serve()
    const { code, out } = await installation.start(['migrate']).ended
    assert.equal(code, 0)
    assert.equal(out, 'The schema is up to date.\n')
    assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('two concurrent runs without a service leave the schema complete', async () => {
    const fresh = new Installation()
    const ends = await Promise.all([
      fresh.start(['migrate', '--json']).ended,
      fresh.start(['migrate', '--json']).ended,
    ])
    // The run that started the embedded Postgres stops it when done, possibly under the other.
    assert.ok(
      ends.some(({ code }) => code === 0),
      ends.map(({ err }) => err).join(),
    )
    const { code, out, err } = await fresh.start(['migrate', '--json']).ended
    assert.equal(code, 0, err)
    assert.deepEqual(JSON.parse(out), { applied: [], newest: migrations.at(-1) })
    await fresh.remove()
  })
})

test('a migration gives up after SERVICE_MIGRATE_WAIT_S, and names that and the holder', async () => {
  const { connection, drop } = await makeDatabase(testCluster(), true)
  // An older release, whose table of keys a later migration alters.
  await migrate(connection, { upTo: '0005_keys' })
  const holder = await connect(connection, 'nightly backup')
  await holder.query('begin; lock table api_keys in access share mode')
  const installation = new Installation({ DATABASE_URL: urlOf(connection) })
  after(async () => {
    await installation.remove()
    await holder.end()
    await drop()
  })
  const { code, err } = await installation.start(['migrate'], { SERVICE_MIGRATE_WAIT_S: '0' }).ended
  assert.equal(code, 1)
  assert.match(err, /a lock on api_keys, which keyrail nightly backup \(/)
  assert.match(err, /within 0 s \(SERVICE_MIGRATE_WAIT_S\)/)
})
