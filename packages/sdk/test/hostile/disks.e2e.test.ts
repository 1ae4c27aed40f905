import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { openKeyring } from '../../src/keyring/keyring.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type FeedService, project, secretKey, startFeedService } from '../feed-service.ts'
import { drawKey, policyKey } from '../keys.ts'
import { until } from '../until.ts'

/** A disk that does not answer: a pipe without a writer blocks every thread that reads it. */

const root = mkdtempSync(join(tmpdir(), 'keyrail-hangs-'))
after(() => rmSync(root, { recursive: true, force: true }))
const pipe = join(root, 'pipe')
execFileSync('mkfifo', [pipe])
/** More than the threads for files. */
const OPENS = 8

let service: FeedService
let hung: Promise<unknown>[] = []
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(async () => {
  await release()
  await service.close()
})

function hang(): void {
  hung = Array.from({ length: OPENS }, async () => {
    const handle = await open(pipe)
    await handle.close()
  })
}

async function release(): Promise<void> {
  // Opening it for reading and writing does not block, and unblocks all readers.
  const writer = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  await Promise.all(hung)
  closeSync(writer)
}

function start() {
  const notices: string[] = []
  const key = drawKey()
  service.upsert(policyKey(key, 1))
  const cacheDir = mkdtempSync(join(root, 'node-'))
  const keyring = openKeyring(
    {
      url: service.url,
      secretKey,
      project,
      cacheDir,
      pollIntervalMs: 100,
      onNotice: ({ code }) => notices.push(code),
    },
    { clock: systemClock, random: Math.random, diskMaxMs: 200 },
  )
  return { keyring, key, notices }
}

test('a node whose disk hangs at startup continues without it, with a notice', async () => {
  hang()
  const { keyring, key, notices } = start()
  await keyring.ready()
  assert.equal(keyring.verify(key).code, 'valid')
  await keyring.close()
  assert.deepEqual(notices, ['disk_unusable'])
})

test('a disk that hangs at startup does not keep the process from closing', async () => {
  hang()
  const { keyring, notices } = start()
  await keyring.close()
  assert.deepEqual(notices, ['disk_unusable'])
})

test('close does not wait for a hanging disk beyond its limit, and reports it', async () => {
  const { keyring, notices } = start()
  await keyring.ready()
  hang()
  const fresh = drawKey()
  service.upsert(policyKey(fresh, 2))
  await until(() => keyring.verify(fresh).valid, 'the store has changed')
  await keyring.close()
  assert.deepEqual(notices, ['disk_write_failed'])
})
