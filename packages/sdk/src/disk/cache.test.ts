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

test('of eight processes with one directory any may write, and every restart is warm', async () => {
  const { at, pass, open } = machine()
  const nodes = Array.from({ length: 8 }, () => ({ ...open(), kept: holding() }))
  for (const { cache } of nodes) await cache.load()
  const poll = async ({ cache, kept }: (typeof nodes)[number], confirmedMs = 0) => {
    kept.store.confirm(at.monotonic - confirmedMs)
    cache.keep(kept)
    await cache.close(undefined)
  }
  for (const node of nodes) await poll(node)
  for (let round = 0; round < 3; round++)
    for (const node of nodes) {
      pass(50_000)
      await poll(node)
      const resumed = await open().cache.load()
      assert.deepEqual([resumed?.isFresh, resumed?.store.confirmedAt], [true, at.monotonic])
      // An answer that was held for longer was confirmed earlier, and takes nothing away.
      await poll(nodes[(nodes.indexOf(node) + 1) % 8] ?? node, 25_000)
      assert.equal((await open().cache.load())?.store.confirmedAt, at.monotonic)
    }
  // One of them has a newer version: notes of the others do not confirm it.
  const [first, second] = nodes
  assert.ok(first && second)
  pass(10_000)
  addKey(first.kept.store, 4)
  first.kept.version = 8
  await poll(first)
  const writtenAt = at.monotonic
  pass(10_000)
  await poll(second)
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.version, resumed?.store.size, resumed?.store.confirmedAt], [8, 4, writtenAt])
  assert.deepEqual(
    nodes.flatMap(({ notices }) => notices),
    [],
  )
})

test('a note from the future is replaced', async () => {
  const { at, pass, open } = machine()
  const { cache } = open()
  await cache.load()
  const kept = holding()
  cache.keep(kept)
  await cache.close(undefined)
  const poll = async () => {
    pass(10_000)
    kept.store.confirm(at.monotonic)
    cache.keep(kept)
    await cache.close(undefined)
  }
  await poll()
  at.wall -= HOUR
  await poll()
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.isFresh, resumed?.store.confirmedAt], [true, at.monotonic])
})

test('a directory that cannot be is tried and reported once, then tried again every ten minutes', async () => {
  const { pass, open, cacheDir } = machine()
  writeFileSync(cacheDir, 'in its place')
  const { cache, notices } = open({ cacheDir: join(cacheDir, 'node') })
  assert.equal(await cache.load(), undefined)
  const kept = holding()
  const poll = async () => {
    cache.keep(kept)
    await cache.close(undefined)
  }
  for (let minute = 0; minute < 25; minute++) {
    pass(60_000)
    await poll()
  }
  assert.deepEqual(notices, ['disk_unusable'])
  rmSync(cacheDir)
  pass(200_000)
  await poll()
  assert.ok(!existsSync(cacheDir), 'not yet')
  pass(200_000)
  await poll()
  await poll()
  assert.deepEqual(readdirSync(join(cacheDir, 'node')), [name])
  assert.deepEqual(notices, ['disk_unusable'])
})

test('where no directory can be made, such as in /proc, the attempt ends', {
  skip: !existsSync('/proc'),
}, async () => {
  for (const nope of ['/proc/nope', '/proc/nope/deeper/still']) {
    const { cache, notices } = machine().open({ cacheDir: nope })
    assert.equal(await cache.load(), undefined)
    assert.deepEqual(notices, ['disk_unusable'])
  }
})

test('missing parents of the directory are made, for its owner only', async () => {
  const { cacheDir, open } = machine()
  const { cache, notices } = open({ cacheDir: join(cacheDir, 'a', 'b') })
  await cache.load()
  await cache.close(holding())
  assert.deepEqual([readdirSync(join(cacheDir, 'a', 'b')), notices], [[name], []])
  assert.equal(lstatSync(join(cacheDir, 'a')).mode & 0o777, 0o700)
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
