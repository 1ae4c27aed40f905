import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, test } from 'node:test'
import { createKeyring, type Keyring } from '../../src/keyring/keyring.ts'
import {
  type FeedService,
  type Instead,
  project,
  secretKey,
  startFeedService,
  workspaceId,
} from '../feed-service.ts'
import { drawKey, id, policyKey } from '../keys.ts'
import { type Carrier, overEach } from '../transports.ts'
import { until } from '../until.ts'

/** Failures of several answers, or of another service. The modes cover single answers. */

let service: FeedService
let keyring: Keyring
let key = ''
const forged = drawKey()
const errors: string[] = []

beforeEach(async () => {
  service = await startFeedService()
  key = drawKey()
  service.upsert(policyKey(key, 1))
  errors.length = 0
  await open(undefined)
})
async function open(fetch: Carrier): Promise<void> {
  keyring = createKeyring({
    url: service.url,
    secretKey,
    project,
    pollIntervalMs: 100,
    fetch,
    onError: ({ code }) => errors.push(code),
  })
  await keyring.ready()
}
afterEach(async () => {
  await keyring.close()
  await service.close()
})

const head = () => ({
  workspace_id: workspaceId,
  project_id: project,
  env: 'live',
  version: service.version + 1,
  project_deleted: false,
  generated_at: new Date().toISOString(),
})

const delta = (more: object = {}, changes: unknown[] = [{ change: 'upsert', ...policyKey(forged, 66) }]) => ({
  body: { object: 'policy_delta', ...head(), since: service.version, changes, ...more },
})
const snapshot = (more: object = {}) => ({
  body: { object: 'policy_snapshot', ...head(), keys: [policyKey(forged, 66)], next_cursor: null, ...more },
})

/** Checks that the answer is refused with this code and changes nothing. */
async function refuses(answer: Instead, code: string): Promise<void> {
  const before = keyring.stats().version
  const times = errors.length
  service.instead.push(answer)
  await until(() => errors.length > times, `the answer is refused as ${code}`)
  assert.equal(errors[times], code)
  assert.equal(keyring.stats().version, before)
  assert.deepEqual([keyring.verify(key).code, keyring.verify(forged).code], ['valid', 'unknown_key'])
}

test('after a change of an unknown kind the node takes a new snapshot', async () => {
  const fresh = drawKey()
  service.upsert(policyKey(fresh, 2))
  service.instead.push(delta({ since: service.version - 1 }, [{ change: 'suspend', key_id: id(1) }]))
  await until(() => keyring.verify(fresh).valid, 'a snapshot has come')
  assert.deepEqual([keyring.verify(key).code, keyring.verify(forged).code], ['valid', 'unknown_key'])
  assert.ok(keyring.stats().polls.snapshot >= 1)
})

test('a walk with one wrong page changes nothing', async () => {
  service.instead.push(snapshot({ next_cursor: 'on' }))
  await refuses(snapshot({ version: service.version + 2 }), 'bad_response')
  service.instead.push(snapshot({ next_cursor: 'on' }))
  await refuses(snapshot({ workspace_id: id(0xd001) }), 'bad_response')
})

overEach('a redirect to another host is refused, and the secret key not sent there', async fetch => {
  await keyring.close()
  await open(fetch)
  const received: unknown[] = []
  const elsewhere = createServer((request, response) => {
    received.push(request.headers)
    response.end(JSON.stringify(delta().body))
  }).listen(0, '127.0.0.1')
  await until(() => elsewhere.listening, 'the other host listens')
  try {
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/v1/policy/delta`
    for (const status of [301, 302, 303, 307, 308])
      await refuses({ status, headers: { location } }, 'network_error')
    assert.deepEqual(received, [])
  } finally {
    elsewhere.close()
  }
})

test('an answer that never ends is aborted, and polling continues', async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(32)
  let isEndless = true
  let cancelled = 0
  const answers: typeof fetch = async (input, init) => {
    if (!isEndless || !String(input).includes('delta')) return await fetch(input, init)
    const body = new ReadableStream({
      pull: controller => controller.enqueue(chunk),
      cancel: () => {
        cancelled++
        isEndless = false
      },
    })
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  }
  const codes: string[] = []
  const other = createKeyring({
    url: service.url,
    secretKey,
    project,
    pollIntervalMs: 100,
    fetch: answers,
    onError: ({ code }) => codes.push(code),
  })
  try {
    await other.ready()
    await until(() => cancelled === 1, 'the stream is cancelled')
    assert.equal(other.verify(key).code, 'valid')
    const fresh = drawKey()
    service.upsert(policyKey(fresh, 2))
    await until(() => other.verify(fresh).valid, 'polling continues')
    assert.deepEqual(codes, ['response_too_large'])
  } finally {
    await other.close()
  }
})

test('an old service without cursors, limits, entity tags and held answers is understood', async () => {
  const old = drawKey()
  const { next_cursor: _, ...body } = snapshot({ keys: [policyKey(key, 1), policyKey(old, 3)] }).body as {
    next_cursor?: unknown
  }
  assert.ok(!('rate_limits' in policyKey(old, 3)))
  service.instead.push({ body })
  await until(() => keyring.verify(old).valid, 'the snapshot is taken')
  const verdict = keyring.verify(old)
  assert.ok(verdict.valid && !('rateLimits' in verdict))
  assert.equal(keyring.stats().complete, true)
})
