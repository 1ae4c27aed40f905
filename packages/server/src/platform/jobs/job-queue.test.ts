import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase, freshPath, query } from '../../../test/dump-contents.ts'
import { restore } from '../../restore.ts'
import { type Connection, connect } from '../db/connection.ts'
import { backup } from '../db/dump/backup.ts'
import { migrate, migrations } from '../db/migrate/migrate.ts'
import { installJobQueueWithin, jobQueueRevision, jobSchemaRevision } from './job-queue.ts'

const revisionOf = async (connection: Connection) => {
  const client = await connect(connection, 'test', false)
  return await jobQueueRevision(client).finally(() => client.end())
}
const jobsOf = (connection: Connection) =>
  query(
    connection,
    `select t.identifier as task, j.payload
     from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id order by j.id`,
  )
const job = { task: 'keyrail_mail', payload: { kind: 'reset', ids: {} } }
const queueOne = (connection: Connection) =>
  query(connection, `select queue_mail('reset', 'reset', sha256('x'), '{}')`)

test('the expected revision is the newest one of the installed library', async () => {
  const connection = await freshDatabase(true)
  assert.equal(await revisionOf(connection), 0)
  assert.deepEqual(await migrate(connection), migrations)
  assert.equal(await revisionOf(connection), jobSchemaRevision)
})

test('a migrated database with an older queue is updated, even by several at once', async () => {
  const connection = await freshDatabase(false)
  await query(connection, 'drop schema graphile_worker cascade')
  assert.deepEqual(await Promise.all([migrate(connection), migrate(connection), migrate(connection)]), [
    [],
    [],
    [],
  ])
  assert.equal(await revisionOf(connection), jobSchemaRevision)
  await queueOne(connection)
  assert.deepEqual(await jobsOf(connection), [job])
})

test('within a transaction the queue is made with everything else or not at all', async () => {
  const connection = await freshDatabase(true)
  const client = await connect(connection, 'test', false)
  for (const end of ['rollback', 'commit'] as const) {
    await client.query('begin')
    await client.query('create table beside ()')
    await installJobQueueWithin(client)
    await installJobQueueWithin(client)
    assert.equal(await jobQueueRevision(client), jobSchemaRevision)
    await client.query(end)
    const [found] = await query(connection, `select to_regclass('beside') is not null as there`)
    assert.deepEqual(found, { there: end === 'commit' })
    assert.equal(await revisionOf(connection), end === 'commit' ? jobSchemaRevision : 0)
  }
  await client.end()
})

test('a backup has no waiting mail, and a restored database can queue mail at once', async () => {
  const source = await freshDatabase(false)
  await queueOne(source)
  const file = freshPath()
  const { header } = await backup(source, file)
  assert.ok(!JSON.stringify(header).includes('graphile'))
  for (const empty of [true, false]) {
    const target = await freshDatabase(empty)
    await restore(target, file)
    assert.deepEqual(await jobsOf(target), [])
    await queueOne(target)
    assert.deepEqual(await jobsOf(target), [job])
  }
})

test('a restore removes waiting mail, and keeps other jobs in the same queue', async () => {
  const target = await freshDatabase(false)
  const file = freshPath()
  await backup(target, file)
  await queueOne(target)
  await query(target, `select graphile_worker.add_job('theirs', '{"a": 1}')`)
  await restore(target, file, { force: true })
  assert.deepEqual(await jobsOf(target), [{ task: 'theirs', payload: { a: 1 } }])
})

test('a user that may not make a schema gets the SQL that grants the right', async () => {
  const connection = await freshDatabase(true)
  const { database = '' } = connection
  const user = `plain_${randomUUID().replaceAll('-', '')}`
  await query(connection, `create role ${user} login password 'secret'`)
  await query(connection, `grant keyrail_app to ${user}`)
  await query(connection, `grant create on schema public to ${user}`)
  const plain = { ...connection, user, password: 'secret' }
  try {
    const grant = `grant create on database "${database}" to "${user}";`
    await assert.rejects(migrate(plain), (error: Error) => error.message.includes(grant))
    await query(connection, grant)
    assert.deepEqual(await migrate(plain), migrations)
    await queueOne(plain)
    assert.deepEqual(await jobsOf(plain), [job])
  } finally {
    await query(connection, `drop owned by ${user} cascade`)
    await query(connection, `drop role ${user}`)
  }
})
