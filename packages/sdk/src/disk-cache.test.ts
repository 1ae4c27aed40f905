import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { id } from '../test/keys.ts'
import { digestOf } from './digest.ts'
import { DiskCache } from './disk-cache.ts'
import type { Notice } from './options.ts'
import { Store } from './store.ts'

const root = mkdtempSync(join(tmpdir(), 'keyrail-disk-'))
after(() => rmSync(root, { recursive: true, force: true }))
const scope = { projectId: id(0xc000), env: 'live' as const, tenantIds: [] as string[] }
const name = `policy-${id(0xc000)}-live`
const HOUR = 3_600_000

let directories = 0
let cacheDir = ''
beforeEach(() => {
  cacheDir = join(root, `cache-${directories++}`)
})

/** A node of one machine, whose three clocks a test moves. */
function machine() {
  const at = { wall: Date.parse('2027-01-01T00:00:00Z'), monotonic: 1_000, uptime: 500_000 }
  const pass = (ms: number) => {
    at.wall += ms
    at.monotonic += ms
    at.uptime += ms
  }
  const open = (more: { tenantIds?: string[]; maxCachedKeys?: number } = {}) => {
    const notices: string[] = []
    const cache = new DiskCache({
      settings: {
        scope: { ...scope, tenantIds: more.tenantIds ?? [] },
        maxCachedKeys: more.maxCachedKeys ?? 100,
        maxAutoCachedKeys: 0,
        cachedTtlMs: 60_000,
        cacheDir,
      },
      clock: { wall: () => at.wall, monotonic: () => at.monotonic },
      uptimeMs: () => at.uptime,
      notice: ({ code }: Notice) => notices.push(code),
    })
    return { cache, notices }
  }
  /** A process that starts, keeps what it holds, and ends. */
  const write = async (kept: ReturnType<typeof holding>) => {
    const { cache, notices } = open()
    await cache.load()
    await cache.close(kept)
    assert.deepEqual(notices, [])
  }
  return { at, pass, open, write }
}

function holding(keys = 3, confirmedAt = 1_000) {
  const store = new Store(100)
  for (let number = 1; number <= keys; number++) add(store, number)
  store.confirm(confirmedAt)
  return { store, version: 7, workspaceId: id(0xd000), isWhole: true }
}

const add = (store: Store, number: number) =>
  store.upsert({
    keyId: id(number),
    tenantId: id(0xa000),
    env: 'live',
    digest: digestOf(`key ${number}`),
    scopes: [],
    rateLimits: undefined,
    expiresAt: Number.POSITIVE_INFINITY,
  })

test('the first start is a cold one, without a word', async () => {
  const { cache, notices } = machine().open()
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, [])
})

test('the directory and its files are for their owner alone, and nothing is left lying about', async () => {
  const { write } = machine()
  await write(holding())
  assert.equal(lstatSync(cacheDir).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(cacheDir), [name])
  assert.equal(lstatSync(join(cacheDir, name)).mode & 0o777, 0o600)
})

test('what was kept is served by the next process for what is left of its time', async () => {
  const { at, pass, open, write } = machine()
  pass(10_000)
  await write(holding(3, 1_000))
  // Another process of the same machine: its own monotonic clock begins elsewhere.
  pass(20_000)
  at.monotonic = 77
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.isFresh, resumed?.isWhole, resumed?.version], [true, true, 7])
  assert.equal(resumed?.store.size, 3)
  assert.equal(resumed?.store.confirmedAt, 77 - 30_000)
})

test('at the end of its time a file is not served, but says from which version on to ask', async () => {
  const { pass, open, write } = machine()
  await write(holding())
  pass(59_999)
  assert.equal((await open().cache.load())?.isFresh, true)
  pass(1)
  const resumed = await open().cache.load()
  assert.deepEqual([resumed?.isFresh, resumed?.version], [false, 7])
  assert.equal(resumed?.store.confirmedAt, Number.NEGATIVE_INFINITY)
})

test('a wall clock that was set back keeps no file fresh, and one that was set forward makes none', async () => {
  const back = machine()
  await back.write(holding())
  back.pass(2 * HOUR)
  back.at.wall -= 2 * HOUR
  assert.equal((await back.open().cache.load())?.isFresh, false, 'as old as the other clock says')
  back.at.wall -= HOUR
  assert.equal((await back.open().cache.load())?.isFresh, false, 'from a time to come')
  const forward = machine()
  forward.at.wall += HOUR
  assert.equal((await forward.open().cache.load())?.isFresh, false)
})

test('after a restart of the machine the wall clock alone tells how old a file is', async () => {
  const { at, pass, open, write } = machine()
  await write(holding())
  pass(30_000)
  at.uptime = 2_000
  assert.equal((await open().cache.load())?.isFresh, true)
  pass(30_000)
  assert.equal((await open().cache.load())?.isFresh, false)
})

test('between changes only the confirmation is written, and it counts for the snapshot that it names', async () => {
  const { at, pass, open } = machine()
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
    ['of another snapshot', note.replace(/"of":"../, '"of":"zz')],
    ['with another time', note.replace('"uptime_ms":', '"uptime_ms":9')],
    ['empty', ''],
  ] as const) {
    writeFileSync(join(cacheDir, `${name}.confirmed`), odd)
    assert.equal((await open().cache.load())?.isFresh, false, what)
  }
})

test('a confirmation of what is not on the disk is never written: a revoked key must not be confirmed', async () => {
  const { at, pass, open } = machine()
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

test('polls one after the other write every few seconds, and close writes the rest', async () => {
  const { pass, open } = machine()
  const { cache } = open()
  await cache.load()
  const kept = holding()
  cache.keep(kept)
  await cache.close(undefined)
  add(kept.store, 4)
  pass(4_999)
  cache.keep(kept)
  assert.equal((await open().cache.load())?.store.size, 3)
  pass(1)
  cache.keep(kept)
  await cache.close(undefined)
  assert.equal((await open().cache.load())?.store.size, 4)
  add(kept.store, 5)
  await cache.close(kept)
  assert.equal((await open().cache.load())?.store.size, 5)
})

test('a directory that others could write to is not used, and neither is one that is none', async () => {
  const { open, write } = machine()
  const spoil: [string, () => void][] = [
    ['group-writable', () => chmodSync(cacheDir, 0o770)],
    ['world-writable', () => chmodSync(cacheDir, 0o707)],
    [
      'a symbolic link',
      () => {
        renameSync(cacheDir, `${cacheDir}-real`)
        symlinkSync(`${cacheDir}-real`, cacheDir)
      },
    ],
    [
      'a file',
      () => {
        rmSync(cacheDir, { recursive: true })
        writeFileSync(cacheDir, '')
      },
    ],
  ]
  for (const [what, change] of spoil) {
    cacheDir = join(root, `cache-${directories++}`)
    await write(holding())
    change()
    const { cache, notices } = open()
    assert.equal(await cache.load(), undefined, what)
    assert.deepEqual(notices, ['disk_unusable'], what)
    const before = readdirSync(root).length
    cache.keep(holding(9))
    await cache.close(holding(9))
    assert.equal(readdirSync(root).length, before)
  }
})

test('a file that others could have written is refused, and the next process finds one of ours in its place', async () => {
  const { open, write } = machine()
  const path = () => join(cacheDir, name)
  const spoil: [string, () => void][] = [
    ['world-writable', () => chmodSync(path(), 0o666)],
    [
      'a symbolic link',
      () => {
        renameSync(path(), `${path()}.real`)
        symlinkSync(`${path()}.real`, path())
      },
    ],
    ['damaged', () => writeFileSync(path(), readFileSync(path()).subarray(1))],
    ['empty', () => writeFileSync(path(), '')],
  ]
  for (const [what, change] of spoil) {
    cacheDir = join(root, `cache-${directories++}`)
    await write(holding())
    change()
    const { cache, notices } = open()
    assert.equal(await cache.load(), undefined, what)
    assert.deepEqual(notices, ['disk_file_refused'], what)
    await cache.close(holding(5))
    assert.equal((await open().cache.load())?.store.size, 5)
  }
  cacheDir = join(root, `cache-${directories++}`)
  mkdirSync(join(cacheDir, name), { recursive: true, mode: 0o700 })
  const { cache, notices } = open()
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, ['disk_file_refused'], 'a directory')
})

test('a file written for other tenants is reported as a scope mismatch', async () => {
  const { open, write } = machine()
  await write(holding())
  const { cache, notices } = open({ tenantIds: [id(0xa000)] })
  assert.equal(await cache.load(), undefined)
  assert.deepEqual(notices, ['disk_scope_mismatch'])
})

test('a disk that fails is told of once for as long as it does, and the node goes on', async () => {
  const { pass, open } = machine()
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

test('what a killed process left half written is removed in time, and what another is writing is not', async () => {
  const { at, open, write } = machine()
  await write(holding())
  const [old, fresh] = [join(cacheDir, `${name}.0123.tmp`), join(cacheDir, `${name}.4567.tmp`)]
  for (const path of [old, fresh]) writeFileSync(path, 'half')
  utimesSync(old, (at.wall - 2 * HOUR) / 1_000, (at.wall - 2 * HOUR) / 1_000)
  utimesSync(fresh, at.wall / 1_000, at.wall / 1_000)
  await open().cache.load()
  assert.deepEqual([existsSync(old), existsSync(fresh)], [false, true])
})
