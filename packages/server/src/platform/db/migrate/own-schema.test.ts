import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { checkMigrationRights } from '../../../cli/doctor/rights.ts'
import { appliedMigrations, migrate, migrations } from './migrate.ts'

const database = await makeDatabase(testCluster(), true)
const { connection } = database
const run = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
const set = (text: string) => run(client => client.query(text))
after(() => database.drop())

test('a path to another schema is refused before the first table, with what to run', async () => {
  const name = connection.database
  await set('create schema team')
  for (const [path, where] of [
    ['team, public', /leads to the schema team, and Keyrail’s tables are in public/],
    ['nothing', /\(nothing\) leads to no schema that exists/],
    [`''`, /leads to no schema that exists/],
  ] as const) {
    await set(`alter database ${name} set search_path = ${path}`)
    const error = await migrate(connection).then(
      () => null,
      refused => refused,
    )
    assert.match(error?.message ?? 'migrated', where)
    assert.match(error.message, /alter role \S+ in database test_\w+ set search_path = public;/)
    const [check] = await run(checkMigrationRights)
    assert.deepEqual([check?.name, check?.status], ['schema', 'fault'])
    const { rows } = await run(client =>
      client.query(
        `select from pg_class where relnamespace in ('team'::regnamespace, 'public'::regnamespace)`,
      ),
    )
    assert.equal(rows.length, 0, 'and nothing was made')
    const { rows: queues } = await run(client =>
      client.query(`select from pg_namespace where nspname = 'graphile_worker'`),
    )
    assert.equal(queues.length, 0)
  }
  // What the message says to run helps: a setting of the role in its database wins.
  await set(`alter role current_user in database ${name} set search_path = public`)
  await migrate(connection)
  assert.deepEqual(await run(appliedMigrations), migrations)
})

test('a schema that is up to date is served, whatever comes first in the path of its login', async () => {
  await set(`alter role current_user in database ${connection.database} set search_path = team, public`)
  assert.deepEqual(await migrate(connection), [])
})
