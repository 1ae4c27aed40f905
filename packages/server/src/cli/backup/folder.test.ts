import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openBackupFolder } from './folder.ts'

const checked = (day: number) => `keyrail-202601${String(day).padStart(2, '0')}T000000Z.keyrail.age`
const unchecked = (day: number) => checked(day).replace('Z.', 'Z.unchecked.')
const time = (day: number) => checked(day).slice(8, 24)

async function folderWith(t: TestContext, names: string[]) {
  const path = mkdtempSync(join(tmpdir(), 'keyrail-folder-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  for (const name of names) writeFileSync(join(path, name), name)
  const folder = await openBackupFolder(path)
  t.after(() => folder.release())
  return {
    path,
    folder,
    left: () =>
      readdirSync(path)
        .filter(name => !name.startsWith('service.lock'))
        .sort(),
  }
}

test('a checked backup replaces unchecked ones before it, and checked ones beyond the count', async t => {
  const { folder, left } = await folderWith(t, [
    checked(1),
    unchecked(2),
    checked(3),
    checked(4),
    unchecked(5),
  ])
  assert.deepEqual(folder.prune(time(4), 2, true), {
    removed: [unchecked(2), checked(1)],
    later: [unchecked(5)],
  })
  assert.deepEqual(left(), [checked(3), checked(4), unchecked(5)].sort())
})

test('an unchecked backup replaces no checked one, and its kind does not pile up', async t => {
  const { folder, left } = await folderWith(t, [
    checked(1),
    checked(2),
    unchecked(3),
    unchecked(4),
    unchecked(5),
  ])
  folder.prune(time(5), 2, false)
  assert.deepEqual(left(), [checked(1), checked(2), unchecked(4), unchecked(5)].sort())
})

test('when the clock steps back, the backup just made stays, and later names are reported', async t => {
  const { folder, left } = await folderWith(t, [checked(1), checked(2), checked(20), checked(21)])
  assert.deepEqual(folder.prune(time(2), 1, true), {
    removed: [checked(1)],
    later: [checked(20), checked(21)],
  })
  assert.deepEqual(left(), [checked(2), checked(20), checked(21)])
  assert.equal(folder.freeTime(Date.UTC(2026, 0, 20)), '20260120T000001Z')
  assert.equal(folder.newestAt('checked'), Date.UTC(2026, 0, 21))
})

test('what a killed process has left half-written goes, and no other file does', async t => {
  const others = ['notes.txt', 'keyrail-monday', `${checked(1)}.partial`, checked(1)]
  const { left } = await folderWith(t, [...others, `${unchecked(2)}.partial`])
  assert.deepEqual(left(), others.sort())
})

test('a second process is refused, and a path that is not a directory', async t => {
  const { path } = await folderWith(t, [checked(1)])
  await assert.rejects(openBackupFolder(path), /Another keyrail backup writes to .*\. Stop it/)
  await assert.rejects(
    openBackupFolder(join(path, checked(1))),
    /is not a directory\. With --every, give one/,
  )
})
