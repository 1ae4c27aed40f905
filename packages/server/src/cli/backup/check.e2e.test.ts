import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { freshDatabase, query } from '../../../test/dump-contents.ts'
import { Installation, urlOf } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'
import { restore } from '../../restore.ts'

const source = await freshDatabase(false)
const installation = new Installation({ DATABASE_URL: urlOf(source) })
after(() => installation.remove())

const newFolder = () => mkdtempSync(join(installation.place.temp, 'copies-'))
const start = (path: string, ...more: string[]) =>
  installation.start(['backup', path, '--check-database', given.database ?? '', ...more])
const given = await freshDatabase(true)

/** A row, written past Keyrail, that no restore takes. */
async function breakRow() {
  await query(source, 'alter table workspaces drop constraint workspaces_slug_bounds')
  await query(
    source,
    `insert into workspaces (id, name, slug, created_at, updated_at)
     values (gen_random_uuid(), 'Broken', 'No Slug', now(), now())`,
  )
}
const repair = () => query(source, `delete from workspaces where slug = 'No Slug'`)

test('a backup that fails its check never has its name, and an older one keeps it', async () => {
  const folder = newFolder()
  const path = join(folder, 'monday')
  await breakRow()
  for (const [flags, there] of [
    [[], []],
    [['--force'], ['monday']],
  ] as const) {
    for (const name of there) writeFileSync(join(folder, name), 'an older backup')
    const { code, out, err } = await start(path, ...flags).ended
    assert.deepEqual([code, out], [1, ''])
    assert.ok(
      err.includes(
        `Error: ${path}.unchecked was written, but its check failed, so it is not called ${path}: `,
      ),
      err,
    )
    assert.match(err, /workspaces_slug_bounds/)
    assert.deepEqual(readdirSync(folder).sort(), [...there, 'monday.unchecked'])
  }
  assert.equal(readFileSync(path, 'utf8'), 'an older backup')

  await repair()
  const made = await start(path, '--force').ended
  assert.equal(made.code, 0, made.err)
  assert.deepEqual(readdirSync(folder), ['monday'])
  await restore(await freshDatabase(true), path)
})

test('a signal during the check leaves no file', async () => {
  const folder = newFolder()
  const path = join(folder, 'tuesday')
  const [writing, checking] = [await connect(source), await connect(given)]
  await writing.query('begin; lock table workspaces in access exclusive mode')
  const { child, ended } = start(path)
  await until(() => readdirSync(folder).includes('tuesday.partial'))
  // No other session sees the table, but the restore waits for its name.
  await checking.query('begin; create table workspaces ()')
  await writing.query('rollback')
  await until(async () => (await query(given, `select from pg_locks where not granted`)).length > 0)
  child.kill('SIGTERM')
  assert.equal((await ended).code, 130)
  await checking.query('rollback')
  assert.deepEqual(readdirSync(folder), [])
})

async function connect(where: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(where)
  await client.connect()
  after(() => client.end())
  return client
}
