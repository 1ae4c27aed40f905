import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { type FeedService, project, secretKey, startFeedService } from '../../test/feed-service.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { until } from '../../test/until.ts'
import { type Keyring, openKeyring } from './keyring.ts'
import type { KeyringOptions } from './options.ts'

/** A node that restarts, with a directory that stays. */

const root = mkdtempSync(join(tmpdir(), 'keyrail-restart-'))
after(() => rmSync(root, { recursive: true, force: true }))

let service: FeedService
let cacheDir = ''
let directories = 0
const open: Keyring[] = []
/** The clocks of the machine, which continue while no process runs. */
const at = { wall: 0, uptime: 0 }
beforeEach(async () => {
  service = await startFeedService()
  cacheDir = join(root, `node-${directories++}`)
  at.wall = Date.now()
  at.uptime = 1_000_000
})
afterEach(async () => {
  for (const keyring of open.splice(0)) await keyring.close()
  await service.close()
})

function start(options: Partial<KeyringOptions> = {}, random = Math.random) {
  const errors: string[] = []
  const notices: string[] = []
  const time = { monotonic: 50 }
  const keyring = openKeyring(
    {
      url: service.url,
      secretKey,
      project,
      pollIntervalMs: 100,
      cacheDir,
      onError: ({ code }) => errors.push(code),
      onNotice: ({ code }) => notices.push(code),
      ...options,
    },
    {
      clock: { wall: () => at.wall, monotonic: () => time.monotonic },
      uptimeMs: () => at.uptime,
      random,
    },
  )
  open.push(keyring)
  return { keyring, errors, notices, time, code: (key: string) => keyring.verify(key).code }
}

function issue(number = 1): string {
  const key = drawKey()
  service.upsert(policyKey(key, number))
  return key
}

/** A process that has loaded the keys and ended. */
async function ran(options: Partial<KeyringOptions> = {}): Promise<void> {
  const { keyring, notices } = start(options)
  await keyring.ready()
  await keyring.close()
  assert.deepEqual(notices, [])
}

test('a process started without the service serves the saved keys until they are stale', async () => {
  const key = issue()
  await ran()
  await service.close()
  at.wall += 20_000
  at.uptime += 20_000
  const { keyring, time, errors, code } = start()
  await keyring.ready()
  assert.equal(code(key), 'valid')
  assert.equal(code(drawKey()), 'unknown_key')
  assert.deepEqual([keyring.stats().complete, keyring.stats().confirmedAgeMs], [true, 20_000])
  await until(() => errors.length > 1, 'polls have failed')
  time.monotonic += 39_999
  assert.equal(code(key), 'valid')
  time.monotonic += 1
  assert.equal(code(key), 'stale')
})

test('a process started from disk polls at once, and serves until the answer', async () => {
  const [kept, revoked] = [issue(1), issue(2)]
  const rarely = { pollIntervalMs: 50_000 }
  await ran(rarely)
  service.revoke(id(2))
  at.wall += 59_000
  at.uptime += 59_000
  service.asked.length = 0
  const { promise: held, resolve: answer } = Promise.withResolvers<void>()
  service.instead.push({ before: () => held })
  // However late the polls after it are.
  const { keyring, code } = start(rarely, () => 0.9)
  await keyring.ready()
  await until(() => service.asked.length > 0, 'it polls')
  assert.deepEqual([code(kept), code(revoked)], ['valid', 'valid'])
  answer()
  await until(() => code(revoked) === 'revoked_key', 'it is reported')
  assert.deepEqual([code(kept), service.paths[0]], ['valid', 'delta'])
})

test('the first poll of a process started from disk is not held, and the next one is', async () => {
  issue()
  await ran()
  service.offersWait = true
  service.asked.length = 0
  const { keyring } = start()
  await keyring.ready()
  await until(() => service.asked.length > 1, 'it polls again')
  const asked = service.asked.map(({ headers }) => headers.prefer)
  assert.deepEqual([asked[0], typeof asked[1]], [undefined, 'string'])
})

test('a process with an expired file serves nothing before its first poll, which takes a delta', async () => {
  const [kept, revoked] = [issue(1), issue(2)]
  await ran()
  const version = service.version
  service.revoke(id(2))
  const fresh = issue(3)
  at.wall += 60_000
  at.uptime += 60_000
  service.asked.length = 0
  service.instead.push({ status: 503 })
  const { keyring, errors, code } = start()
  await until(() => errors.length === 1, 'the first poll has failed')
  assert.equal(code(kept), 'stale')
  assert.equal(keyring.stats().confirmedAgeMs, null)
  await keyring.ready()
  assert.deepEqual([code(kept), code(revoked), code(fresh)], ['valid', 'revoked_key', 'valid'])
  assert.deepEqual(new Set(service.paths), new Set(['delta']))
  assert.equal(service.asked[0]?.url.searchParams.get('since'), String(version))
})

test('a process with an expired file still refuses to start after a permanent error', async () => {
  issue()
  await ran()
  at.wall += 3_600_000
  service.instead.push({ status: 401, body: { code: 'unauthenticated' } })
  await assert.rejects(start().keyring.ready(), { status: 401 })
})

test('a process with an expired file refuses to start if the project no longer fits', async () => {
  issue(1)
  const bounds = { maxCachedKeys: 2, maxAutoCachedKeys: 0 }
  await ran(bounds)
  issue(2)
  issue(3)
  service.floor = service.version
  at.wall += 3_600_000
  await assert.rejects(start(bounds).keyring.ready(), { refusedToStart: true })
})

test('a machine that slept serves no key confirmed before, although its clock stood still', async () => {
  const key = issue()
  const { keyring, code } = start({ cacheDir: undefined })
  await keyring.ready()
  await service.close()
  at.uptime += 50_000
  await until(() => Number(keyring.stats().confirmedAgeMs) >= 50_000, 'the clock has advanced')
  assert.equal(code(key), 'valid')
  at.uptime += 10_000
  await until(() => code(key) === 'stale', 'it is refused')
})

test('a millisecond after a sleep nothing is served beyond its life', async () => {
  const key = issue()
  const { keyring, code, time } = start({ cacheDir: undefined })
  await keyring.ready()
  await service.close()
  at.uptime += 61_000
  at.wall += 61_000
  time.monotonic += 1
  assert.equal(code(key), 'stale')
})

test('a file of the same project id in another workspace is dropped after the first answer', async () => {
  const key = issue()
  await ran()
  service.keys.clear()
  const other = drawKey()
  service.keys.set(id(9), policyKey(other, 9))
  service.workspaceId = id(0xd001)
  at.wall += 3_600_000
  const { keyring, code } = start()
  await keyring.ready()
  assert.deepEqual([code(key), code(other)], ['unknown_key', 'valid'])
})

test('a file written for other tenants is reported, and the start is a cold one', async () => {
  issue()
  await ran()
  service.asked.length = 0
  const { keyring, notices } = start({ tenantIds: [id(0xa000)] })
  await keyring.ready()
  assert.deepEqual(notices, ['disk_scope_mismatch'])
  assert.equal(service.paths[0], 'snapshot')
  await keyring.close()
  const again = start({ tenantIds: [id(0xa000)] })
  await again.keyring.ready()
  assert.deepEqual(again.notices, [])
})

test('a directory that others can write to is reported, and the node runs without it', async () => {
  const key = issue()
  await ran()
  chmodSync(cacheDir, 0o777)
  const before = readdirSync(cacheDir)
  const { keyring, notices, code } = start()
  await keyring.ready()
  assert.equal(code(key), 'valid')
  await keyring.close()
  assert.deepEqual([notices, readdirSync(cacheDir)], [['disk_unusable'], before])
})

test('no file holds a key or the secret key', async () => {
  const key = issue()
  await ran()
  await ran()
  for (const file of readdirSync(cacheDir)) {
    const text = readFileSync(join(cacheDir, file), 'latin1')
    for (const secret of [key, secretKey]) assert.ok(!text.includes(secret.slice(9, 20)), file)
  }
})

test('a process started from disk judges expiry by the service’s clock, not the machine’s', async () => {
  for (const wrong of [-7_200_000, 7_200_000]) {
    cacheDir = join(root, `node-${directories++}`)
    await service.close()
    service = await startFeedService()
    at.wall = Date.now() + wrong
    const [soon, later] = [drawKey(), drawKey()]
    const ends = (ms: number) => ({ expires_at: new Date(Date.now() + ms).toISOString() })
    service.upsert(policyKey(soon, 1, ends(20_000)))
    service.upsert(policyKey(later, 2, ends(1_800_000)))
    await ran()
    await service.close()
    at.wall += 30_000
    at.uptime += 30_000
    const { keyring, code } = start()
    await keyring.ready()
    assert.deepEqual([code(soon), code(later)], ['expired_key', 'valid'], `a clock wrong by ${wrong} ms`)
    await keyring.close()
  }
})

test("a file without the service's time is not served before the service answers", async () => {
  const key = issue()
  await ran()
  const path = join(cacheDir, `policy-${project}-live`)
  const file = readFileSync(path)
  // The field under an unknown name, as in an older file, with a right checksum.
  const older = Buffer.from(file.toString('latin1').replace('"service_at"', '"service_of"'), 'latin1')
  assert.notDeepEqual(older, file)
  const sum = createHash('sha256').update(older.subarray(0, -32)).digest()
  writeFileSync(path, Buffer.concat([older.subarray(0, -32), sum]))
  service.instead.push({ status: 503 })
  const { keyring, errors, code, notices } = start()
  await until(() => errors.length === 1, 'the first poll has failed')
  assert.equal(code(key), 'stale')
  await keyring.ready()
  assert.deepEqual([code(key), notices, service.paths.at(-1)], ['valid', [], 'delta'])
})

test('the time comes from the bodies, and unchanged answers change nothing', async () => {
  const key = drawKey()
  service.upsert(policyKey(key, 1, { expires_at: new Date(Date.now() + 1_800_000).toISOString() }))
  at.wall = Date.now() + 7_200_000
  const { keyring, code } = start({ cacheDir: undefined })
  await keyring.ready()
  assert.equal(code(key), 'valid')
  await until(() => keyring.stats().polls.unchanged > 2, 'answers were unchanged')
  assert.equal(code(key), 'valid')
})

test('expiry is judged by the service’s clock, however wrong or changed the machine’s is', async () => {
  const soon = drawKey()
  const expiresAt = Date.now() + 3_600_000
  service.upsert(policyKey(soon, 1, { expires_at: new Date(expiresAt).toISOString() }))
  for (const wrong of [-7_200_000, 7_200_000]) {
    at.wall = Date.now() + wrong
    const { keyring, code } = start({ cacheDir: undefined })
    await keyring.ready()
    assert.equal(code(soon), 'valid', `a clock wrong by ${wrong} ms`)
    at.wall -= 2 * wrong
    assert.equal(code(soon), 'valid', `then changed by ${-2 * wrong} ms`)
    await keyring.close()
  }
})
