import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase, freshPath, query } from '../../../../test/dump-contents.ts'
import type { Connection } from '../connection.ts'

const program = fileURLToPath(new URL('../../../../test/dump-memory.ts', import.meta.url))
const grownBytes = (what: string, connection: Connection, path: string) =>
  Number(
    execFileSync(process.execPath, [program, what, JSON.stringify(connection), path], { encoding: 'utf8' }),
  )

/** Rows of about a kilobyte, and one that is far larger than any buffer on its way. */
const rows = 200_000
const fill = `insert into replays (workspace_id, caller, key, fingerprint, body)
  select '00000000-0000-0000-0000-000000000000', 'memory', n::text, sha256(n::text::bytea),
    json_build_object('answer', repeat(md5(n::text), case when n = 1 then 2000000 else 28 end))
  from generate_series(1, ${rows}) n`
const textBytes = rows * 1000 + 64_000_000

/** About half the size of the text. Measured: 45 to 55 MB of buffers and young garbage. */
const grownBytesMax = textBytes / 2

test('the memory of backup and restore does not grow with the number or size of rows', async () => {
  const source = await freshDatabase(false)
  await query(source, fill)
  const path = freshPath()
  const backupGrew = grownBytes('backup', source, path)
  assert.ok(backupGrew < grownBytesMax, `a backup of ${textBytes} bytes grew by ${backupGrew}`)
  const target = await freshDatabase(true)
  const restoreGrew = grownBytes('restore', target, path)
  assert.ok(restoreGrew < grownBytesMax, `a restore of ${textBytes} bytes grew by ${restoreGrew}`)
  const [{ count } = { count: 0 }] = (await query(target, 'select count(*)::int from replays')) as {
    count: number
  }[]
  assert.equal(count, rows)
})
