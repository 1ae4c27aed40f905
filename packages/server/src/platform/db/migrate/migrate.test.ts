import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { until } from '../../../../test/until.ts'
import type { Connection } from '../connection.ts'
import { migrationPatience } from './lock-wait.ts'
import { appliedMigrations, type MigrationSet, migrate, ownMigrations, readMigrations } from './migrate.ts'

const cleanUps: (() => Promise<unknown> | unknown)[] = []
after(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp()
})

async function freshDatabase(): Promise<Connection> {
  const { connection, drop } = await makeDatabase(testCluster())
  cleanUps.push(drop)
  return connection
}

/** A later release: today's migrations and one more. */
function withOneMore(name: string, text: string): MigrationSet {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-migrations-'))
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(ownMigrations.directory, folder, { recursive: true })
  writeFileSync(join(folder, `${name}.sql`), text)
  return readMigrations(folder)
}

async function connectAs(connection: Connection, name: string): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, application_name: name })
  client.on('error', () => {})
  await client.connect()
  cleanUps.push(() => client.end())
  return client
}

const isWaiting = async (client: pg.Client) =>
  (
    await client.query(
      `select from pg_locks l join pg_stat_activity a using (pid)
       where a.datname = current_database() and a.application_name = 'keyrail migrate' and not l.granted`,
    )
  ).rowCount !== 0

const insertSlug = (client: pg.Client, name: string) =>
  client.query(
    `with made as (insert into workspaces (id, name, slug, created_at, updated_at)
       values (gen_random_uuid(), $1, $1, now(), now()) returning id)
     insert into audit_heads (workspace_id, seq, hash) select id, 0, sha256('') from made`,
    [name],
  )

const column = `-- expand\nalter table workspaces add column shoe_size int;\n`
/** A try ends soon, so that the test sees several; how long a real one lasts changes nothing in it. */
const brief = { ...migrationPatience, lockMs: 300, pauseMs: 200 }

test('writes go on while a migration waits for a lock, and a line says who holds it', async () => {
  const connection = await freshDatabase()
  const [holder, writer] = [await connectAs(connection, 'nightly backup'), await connectAs(connection, 'w')]
  await holder.query('begin; lock table workspaces in access share mode')
  const lines: string[] = []
  const onWait = (line: string) => void lines.push(line)
  const set = withOneMore('9001_column', column)
  const migrated = migrate(connection, { set, onWait, patience: brief })
  await until(() => isWaiting(writer))
  // Behind a lock that waits, it would wait as long as the backup takes.
  await writer.query(`set lock_timeout = '20s'`)
  await insertSlug(writer, 'written-meanwhile')
  await until(() => lines.length > 0)
  assert.match(lines[0] ?? '', /a lock on workspaces, which nightly backup \(Postgres process \d+, user /)
  await holder.query('commit')
  assert.deepEqual(await migrated, ['9001_column'])
})

test('a lock that is never free fails the migration with its holder, and what was applied stays', async () => {
  const connection = await freshDatabase()
  const holder = await connectAs(connection, 'forgotten session')
  await holder.query('begin; lock table workspaces in access share mode')
  const set = withOneMore('9001_column', column)
  writeFileSync(join(set.directory, '9000_table.sql'), '-- expand\ncreate table shoes (workspace_id uuid);\n')
  const both = readMigrations(set.directory)
  const patience = { ...brief, giveUpMs: 0 }
  await assert.rejects(migrate(connection, { set: both, patience }), {
    message: /forgotten session.*keyrail migrate again/s,
  })
  assert.equal((await appliedMigrations(holder)).at(-1), '9000_table')
})

test('an index is built while rows are written, and an invalid one is built again', async () => {
  const connection = await freshDatabase()
  const [writer, other] = [await connectAs(connection, 'writer'), await connectAs(connection, 'other')]
  await insertSlug(writer, 'same')
  await insertSlug(writer, 'same-too')
  await writer.query(`update workspaces set name = 'same'`)
  const build = 'create unique index concurrently if not exists workspaces_shoes on workspaces (name);'
  const set = withOneMore('9001_index', `-- expand, outside a transaction\n${build}\n`)
  await assert.rejects(migrate(connection, { set }), { code: '23505' })
  const left = await writer.query(
    `select indisvalid from pg_index where indexrelid = 'workspaces_shoes'::regclass`,
  )
  assert.deepEqual(left.rows, [{ indisvalid: false }])

  await writer.query('update workspaces set name = slug')
  await other.query('begin')
  await insertSlug(other, 'open')
  const migrated = migrate(connection, { set })
  await until(() => isWaiting(writer))
  await writer.query(`set lock_timeout = '20s'`)
  await insertSlug(writer, 'written-meanwhile')
  await other.query('commit')
  assert.deepEqual(await migrated, ['9001_index'])
  const made = await writer.query(
    `select indisvalid from pg_index where indexrelid = 'workspaces_shoes'::regclass`,
  )
  assert.deepEqual(made.rows, [{ indisvalid: true }])
})

test('processes that start together build an index once, and none waits for another’s snapshot', async () => {
  const connection = await freshDatabase()
  const build = 'create index concurrently if not exists workspaces_shoes on workspaces (name);'
  const set = withOneMore('9001_index', `-- expand, outside a transaction\n${build}\n`)
  const applied = await Promise.all([1, 2, 3].map(() => migrate(connection, { set })))
  assert.deepEqual(applied.flat(), ['9001_index'])
})
