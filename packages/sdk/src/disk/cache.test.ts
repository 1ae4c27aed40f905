import assert from 'node:assert/strict'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addKey, holding, machine, name } from '../../test/disk-machine.ts'
import { id } from '../../test/keys.ts'
import { digestOf } from '../runtime/digest.ts'

const HOUR = 3_600_000

test('the first start is a cold one, without a notice', async () => {
  const { cache, notices } = machine().open()
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, [])
})

test('only the owner can access the directory and its files, and no other files are left', async () => {
  const { write, cacheDir } = machine()
  await write(holding())
  assert.equal(lstatSync(cacheDir).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(cacheDir), [name])
  assert.equal(lstatSync(join(cacheDir, name)).mode & 0o777, 0o600)
})

test('the next process serves the saved keys for the rest of their time', async () => {
  const { at, pass, open, write } = machine()
  pass(10_000)
  await write(holding(3, 1_000))
  // Another process of the same machine has another monotonic clock.
  pass(20_000)
  at.monotonic = 77
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.isFresh, resumed?.isWhole, resumed?.version], [true, true, 7])
  assert.equal(resumed?.store.size, 3)
  assert.equal(resumed?.store.confirmedAt, 77 - 30_000)
})

test('an expired file is not served, but gives the version to continue from', async () => {
  const { pass, open, write } = machine()
  await write(holding())
  pass(59_999)
  assert.equal((await open().cache.load())?.isFresh, true)
  pass(1)
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.isFresh, resumed?.version], [false, 7])
  assert.equal(resumed?.store.confirmedAt, Number.NEGATIVE_INFINITY)
})

test('setting the wall clock back or forward makes no file fresh', async () => {
  const back = machine()
  await back.write(holding())
  back.pass(2 * HOUR)
  back.at.wall -= 2 * HOUR
  assert.equal((await back.open().cache.load())?.isFresh, false, 'as old as by the other clock')
  back.at.wall -= HOUR
  assert.equal((await back.open().cache.load())?.isFresh, false, 'from the future')
  const forward = machine()
  await forward.write(holding())
  forward.at.wall += HOUR
  assert.equal((await forward.open().cache.load())?.isFresh, false)
})

test('after a restart of the machine only the wall clock gives the age of a file', async () => {
  const { at, pass, open, write } = machine()
  await write(holding())
  pass(30_000)
  at.uptime = 2_000
  assert.equal((await open().cache.load())?.isFresh, true)
  pass(30_000)
  assert.equal((await open().cache.load())?.isFresh, false)
})

test('between changes only the confirmation is written, and counts only for its snapshot', async () => {
  const { at, pass, open, cacheDir } = machine()
  const { cache } = open()
  await cache.load()
  const kept = holding()
  cache.keep(kept)
  await cache.close(undefined)
  const before = readFileSync(join(cacheDir, name))
  pass(50_000)
  kept.store.confirm(at.monotonic)
  cache.keep(kept)
  await cache.close(undefined)
  assert.deepEqual(readFileSync(join(cacheDir, name)), before)
  pass(50_000)
  assert.equal((await open().cache.load())?.isFresh, true)

  const note = readFileSync(join(cacheDir, `${name}.confirmed`), 'utf8')
  for (const [what, odd] of [
    ['cut short', note.slice(0, -1)],
    ['for another snapshot', note.replace(/"of":"../, '"of":"zz')],
    ['with another time', note.replace('"uptime_ms":', '"uptime_ms":9')],
    ['empty', ''],
  ] as const) {
    writeFileSync(join(cacheDir, `${name}.confirmed`), odd)
    assert.equal((await open().cache.load())?.isFresh, false, what)
  }
})

test('no confirmation is written for keys that are not on the disk', async () => {
  const { at, pass, open, cacheDir } = machine()
  const { cache } = open()
  await cache.load()
  const kept = holding()
  cache.keep(kept)
  await cache.close(undefined)
  pass(1_000)
  kept.store.remove(id(1), digestOf('key 1'))
  kept.store.confirm(at.monotonic)
  cache.keep(kept)
  assert.ok(!existsSync(join(cacheDir, `${name}.confirmed`)))
  pass(10_000)
  kept.store.confirm(at.monotonic)
  cache.keep(kept)
  await cache.close(undefined)
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.store.size, resumed?.store.hasId(id(1))], [2, false])
})

test('frequent polls write every few seconds, and close writes the rest', async () => {
  const { pass, open } = machine()
  const { cache } = open()
  await cache.load()
  const kept = holding()
  cache.keep(kept)
  await cache.close(undefined)
  addKey(kept.store, 4)
  pass(4_999)
  cache.keep(kept)
  assert.equal((await open().cache.load())?.store.size, 3)
  pass(1)
  cache.keep(kept)
  await cache.close(undefined)
  assert.equal((await open().cache.load())?.store.size, 4)
  addKey(kept.store, 5)
  await cache.close(kept)
  assert.equal((await open().cache.load())?.store.size, 5)
})

test('a failing disk is reported once, and the node continues', async () => {
  const { pass, open, cacheDir } = machine()
  const { cache, notices } = open()
  await cache.load()
  rmSync(cacheDir, { recursive: true })
  const kept = holding()
  for (let times = 0; times < 3; times++) {
    cache.keep(kept)
    await cache.close(undefined)
    pass(5_000)
  }
  assert.deepEqual(notices, ['disk_write_failed'])
  mkdirSync(cacheDir, { mode: 0o700 })
  cache.keep(kept)
  await cache.close(undefined)
  assert.equal((await open().cache.load())?.store.size, 3)
})

test('old temporary files are removed, recent ones are not', async () => {
  const { at, open, write, cacheDir } = machine()
  await write(holding())
  const [old, fresh] = [join(cacheDir, `${name}.0123.tmp`), join(cacheDir, `${name}.4567.tmp`)]
  for (const path of [old, fresh]) writeFileSync(path, 'half')
  utimesSync(old, (at.wall - 2 * HOUR) / 1_000, (at.wall - 2 * HOUR) / 1_000)
  utimesSync(fresh, at.wall / 1_000, at.wall / 1_000)
  await open().cache.load()
  assert.deepEqual([existsSync(old), existsSync(fresh)], [false, true])
})
