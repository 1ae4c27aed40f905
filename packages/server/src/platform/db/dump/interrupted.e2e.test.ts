import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { contentsOf, freshPath, tablesOf, untilGone } from '../../../../test/dump-contents.ts'
import { startHarness } from '../../../../test/harness.ts'
import { until } from '../../../../test/until.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { restore } from '../../../restore.ts'
import { backup } from './backup.ts'
import { withSession } from './session.ts'

const source = await startHarness()
const vendor = await makeVendor(source)
for (let i = 0; i < 20; i++) await issueKey(source, vendor)
const path = freshPath()
const { header } = await backup(source.connection, path)
const total = header.tables.reduce((sum, { rows }) => sum + rows, 0)

/** A database in use, with a workspace and keys. */
const target = await startHarness()
await issueKey(target, await makeVendor(target))
// The first use of a key is recorded with a delay, which must not fall behind the first look.
const used = `select from secret_keys where env = 'live' and last_used_at is not null`
await until(async () => (await target.query(used)).length > 0)
const before = [await tablesOf(target.connection), await contentsOf(target.connection)]

const restorer = fileURLToPath(new URL('../../../../test/dump-restorer.ts', import.meta.url))

for (const rows of [1, Math.round(total / 2), total]) {
  test(`a restore killed after ${rows} of ${total} rows leaves the database unchanged`, async () => {
    const child = spawn(process.execPath, [restorer, JSON.stringify(target.connection), path, `${rows}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [, signal] = await once(child, 'exit')
    assert.equal(signal, 'SIGKILL')
    await untilGone(target.connection)
    assert.deepEqual([await tablesOf(target.connection), await contentsOf(target.connection)], before)
  })
}

/** Ends the restore's backend, and blocks this process until then. */
function cutConnection(): void {
  const script = `import pg from 'pg'
    const client = new pg.Client(JSON.parse(process.argv[1]))
    await client.connect()
    await client.query("select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and application_name = 'keyrail restore'")
    await client.end()`
  const given = ['--input-type=module', '-e', script, JSON.stringify(target.connection)]
  assert.equal(spawnSync(process.execPath, given, { stdio: 'inherit', cwd: dirname(restorer) }).status, 0)
}

test('a restore whose connection is cut half-way fails and leaves the database unchanged', async () => {
  let cut = false
  await assert.rejects(
    restore(target.connection, path, {
      force: true,
      onProgress({ step, done }) {
        if (cut || step !== 'copy' || done < total / 2) return
        cut = true
        cutConnection()
      },
    }),
  )
  assert.ok(cut)
  assert.deepEqual([await tablesOf(target.connection), await contentsOf(target.connection)], before)
})

test('a backup that cannot be written fails, and leaves no file and no transaction', async () => {
  const full = new Writable({
    write: (_piece, _encoding, done) => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
  })
  await assert.rejects(backup(source.connection, full), { code: 'ENOSPC' })
  await untilGone(source.connection)

  const file = freshPath()
  await assert.rejects(
    backup(source.connection, file, {
      onProgress({ step }) {
        if (step === 'copy') throw new Error('broken off')
      },
    }),
    /broken off/,
  )
  assert.deepEqual([existsSync(file), existsSync(`${file}.partial`)], [false, false])
  await untilGone(source.connection)
})

test('a lock that cannot be obtained ends the wait with a message', async () => {
  const lock = 'begin; lock table workspaces in access exclusive mode'
  const waiting = withSession(source.connection, 'restore', async holder => {
    await holder.query(lock)
    await withSession(source.connection, 'backup', client => client.query(lock), 50)
  })
  await assert.rejects(waiting, /The tables have been locked for more than 0\.05 s/)
})
