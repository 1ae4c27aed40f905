import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, project, secretKey, startFeedService } from '../../test/feed-service.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { issueKeys, openNode } from '../../test/node.ts'
import type { KeyringOptions } from '../keyring/options.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const node = (options: Partial<KeyringOptions> = {}) => openNode(service, options)
const issue = (count: number, from = 1) => issueKeys(service, count, from)

test('a node reads a snapshot page by page by the contract, and then knows every key', async () => {
  const keys = issue(25)
  service.pageKeys = 10
  const { poll, code, sync } = node({ node: 'api:1' })
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual(service.paths, ['snapshot', 'snapshot', 'snapshot'])
  for (const key of keys) assert.equal(code(key), 'valid')
  assert.equal(sync.version, service.version)
  const { url, headers } = service.asked[0] ?? assert.fail()
  const { nonce, ...query } = Object.fromEntries(url.searchParams)
  assert.match(nonce ?? '', /^[\da-f-]{36}$/)
  assert.deepEqual(query, {
    project_id: project,
    env: 'live',
    features: 'cidr,external_id,imported,key_meta,lifetime,suspended',
    node: 'api:1',
    max_keys: '5000',
    held_keys: '0',
    held_keys_max: '38000',
  })
  assert.equal(headers.authorization, `Bearer ${secretKey}`)
})

test('a delta adds, changes and revokes keys, and names the version that the node holds', async () => {
  const [kept = '', revoked = ''] = issue(2)
  const { poll, code, sync } = node()
  await poll()
  const held = service.version
  const [fresh = ''] = issue(1, 3)
  service.revoke(id(2))
  service.upsert(policyKey(kept, 1, { expires_at: '2020-01-01T00:00:00.000Z' }))
  assert.equal(await poll(), 'delta')
  assert.equal(service.asked.at(-1)?.url.searchParams.get('since'), String(held))
  assert.deepEqual([code(kept), code(revoked), code(fresh)], ['expired_key', 'revoked_key', 'valid'])
  assert.equal(sync.version, service.version)
})

test('an unchanged answer confirms and changes nothing, and no cache can give it', async () => {
  const [key = ''] = issue(1)
  const { poll, code, time } = node()
  await poll()
  time.monotonic = 9_000
  assert.equal(await poll(), 'unchanged')
  time.monotonic = 18_000
  assert.equal(await poll(), 'unchanged')
  for (const { headers } of service.asked) assert.equal(headers['if-none-match'], undefined)
  const nonces = service.asked.map(({ url }) => url.searchParams.get('nonce'))
  assert.equal(new Set(nonces).size, nonces.length)
  time.monotonic = 27_999
  assert.equal(code(key), 'valid')
  time.monotonic = 28_000
  assert.equal(code(key), 'stale')
})

test('a confirmation counts from when the request was sent, not from the answer', async () => {
  const [key = ''] = issue(1)
  const { poll, code, time } = node()
  service.instead.push({
    before() {
      time.monotonic = 4_000
    },
  })
  await poll()
  time.monotonic = 9_999
  assert.equal(code(key), 'valid')
  time.monotonic = 10_000
  assert.equal(code(key), 'stale')
})

test('a key revoked during a walk is gone after the next delta', async () => {
  const keys = issue(25)
  service.pageKeys = 10
  const { poll, code, sync } = node()
  const begun = service.version
  service.instead.push({ before: () => {} }, { before: () => service.revoke(id(1)) })
  await poll()
  assert.equal(sync.version, begun)
  assert.equal(await poll(), 'delta')
  assert.equal(code(keys[0] ?? ''), 'revoked_key')
  assert.equal(code(keys[24] ?? ''), 'valid')
})

test('a broken walk leaves the served keys, and the next one starts over', async () => {
  const [first = ''] = issue(1)
  const { poll, code, fails } = node()
  await poll()
  issue(24, 2)
  service.pageKeys = 10
  service.floor = service.version
  service.revoke(id(1))
  service.floor = service.version
  service.instead.push({ before: () => {} }, { status: 503 })
  await fails('http_503')
  assert.equal(code(first), 'valid')
  assert.equal(await poll(), 'snapshot')
  assert.equal(code(first), 'unknown_key')
  assert.deepEqual(service.paths.slice(1), ['delta', 'snapshot', 'delta', 'snapshot', 'snapshot'])
})

test('a version unknown to the service gets a snapshot that replaces everything', async () => {
  const [first = ''] = issue(1)
  const { poll, code, sync } = node()
  await poll()
  service.keys.clear()
  service.version = 0
  const [other = ''] = issue(1, 2)
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual([code(first), code(other), sync.version], ['unknown_key', 'valid', 1])
})

test('a deleted project empties the store, and an empty delta never does', async () => {
  const [key = ''] = issue(1)
  const { poll, code } = node()
  await poll()
  await poll()
  assert.equal(code(key), 'valid')
  service.delete()
  assert.equal(await poll(), 'delta')
  assert.equal(code(key), 'revoked_key')
  const late = node()
  assert.equal(await late.poll(), 'snapshot')
  assert.equal(late.code(key), 'unknown_key')
})

test('after a change of an unknown kind the node takes a snapshot', async () => {
  const [key = ''] = issue(1)
  const { poll, code } = node()
  await poll()
  const [fresh = ''] = issue(1, 2)
  const delta = {
    ...head(),
    object: 'policy_delta',
    since: 2,
    changes: [{ change: 'suspend', key_id: id(1) }],
  }
  service.instead.push({ body: delta })
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual([code(key), code(fresh)], ['valid', 'valid'])
})

const head = () => ({
  workspace_id: id(0xd000),
  project_id: project,
  env: 'live',
  version: service.version,
  project_deleted: false,
  generated_at: '2027-01-01T00:00:00.000Z',
})

test('an answer with any wrong part changes nothing', async () => {
  const [key = ''] = issue(1)
  const { poll, fails, code } = node()
  await poll()
  const delta = { ...head(), object: 'policy_delta', since: service.version, changes: [] as unknown[] }
  const bad: unknown[] = [
    '',
    'null',
    '[]',
    '<html>',
    '{"object":"policy_delta"}',
    { ...delta, object: 'policy_list' },
    { ...delta, project_id: id(1) },
    { ...delta, env: null },
    { ...delta, env: 'test' },
    { ...delta, version: 1.5 },
    { ...delta, version: '2' },
    { ...delta, version: service.version - 1 },
    { ...delta, since: service.version - 1 },
    { ...delta, project_deleted: undefined },
    { ...delta, changes: undefined },
    { ...delta, changes: {} },
    { ...head(), object: 'policy_snapshot', keys: undefined, next_cursor: null },
    { ...head(), object: 'policy_snapshot', keys: [], next_cursor: 5 },
  ]
  for (const body of bad) {
    service.instead.push({ body })
    await fails('bad_response')
  }
  assert.equal(code(key), 'valid')
})

test('an unrequested 304 is an error', async () => {
  issue(1)
  const { poll, fails } = node()
  await poll()
  service.instead.push({ status: 304 })
  await fails('http_304')
})

test('a page of another version and endless pages are errors', async () => {
  const { fails } = node()
  const page = { ...head(), object: 'policy_snapshot', keys: [], next_cursor: 'on' }
  service.instead.push({ body: page }, { body: { ...page, version: 9, next_cursor: null } })
  await fails('bad_response')
  for (let pages = 0; pages < 70; pages++) service.instead.push({ body: page })
  await fails('bad_response')
  assert.ok(service.instead.length > 0)
})

test('answers of older and newer services are read', async () => {
  const key = drawKey()
  const { poll, code } = node()
  service.instead.push({
    body: { ...head(), object: 'policy_snapshot', keys: [{ ...policyKey(key, 1), colour: 'red' }], shape: 2 },
  })
  assert.equal(await poll(), 'snapshot')
  assert.equal(code(key), 'valid')
})

test('a held request without an answer times out, and the next asks for an immediate answer', async () => {
  issue(1)
  service.offersWait = true
  const { poll, fails } = node({ cachedTtlMs: 12_000 })
  await poll()
  service.instead.push({ hang: true })
  // Held for one second at most, plus five.
  await fails('timeout')
  assert.equal(await poll(), 'unchanged')
  service.upsert(policyKey(drawKey(), 2))
  assert.equal(await poll(), 'delta')
  const asked = service.asked.filter(({ url }) => url.pathname.endsWith('/delta'))
  assert.deepEqual(
    asked.map(({ headers }) => headers.prefer),
    ['wait=1', undefined, 'wait=1'],
  )
})
