import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { drawKey, id, policyKey } from '../../test/keys.ts'
import { issueKeys, openNode } from '../../test/node.ts'
import type { KeyringOptions } from '../keyring/options.ts'
import type { PolicyScopeTooLargeError } from '../runtime/errors.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const node = (options: Partial<KeyringOptions> = {}) => openNode(service, options)
const issue = (count: number, from = 1) => issueKeys(service, count, from)

test('a snapshot beyond maxCachedKeys raises the limit up to maxAutoCachedKeys', async () => {
  const keys = issue(12)
  service.pageKeys = 5
  const { poll, code, raised, served } = node({ maxCachedKeys: 4, maxAutoCachedKeys: 12 })
  await poll()
  for (const key of keys) assert.equal(code(key), 'valid')
  assert.deepEqual(raised, [12])
  assert.equal(served.store?.evictions, 0)
})

test('each poll says how many keys the node holds, and how many it may', async () => {
  issue(3)
  const { poll } = node({ maxCachedKeys: 4, maxAutoCachedKeys: 12 })
  await poll()
  await poll()
  const queries = service.asked.map(({ url: { searchParams } }) =>
    ['held_keys', 'held_keys_max'].map(name => searchParams.get(name)),
  )
  assert.deepEqual(queries, [
    ['0', '12'],
    ['3', '12'],
  ])
})

test('if a project does not fit, a new node refuses to start and a serving one keeps its keys', async () => {
  const keys = issue(4)
  const bounds = { maxCachedKeys: 4, maxAutoCachedKeys: 4 }
  const serving = node(bounds)
  await serving.poll()
  issue(1, 5)
  await assert.rejects(node(bounds).poll(), (error: PolicyScopeTooLargeError) => {
    return error.refusedToStart && error.maxKeys === 4 && !error.retryable
  })
  for (const round of [1, 2, 3]) {
    service.upsert(policyKey(keys[0] ?? '', 1))
    service.floor = service.version
    // Longer than `cachedTtlMs`.
    serving.time.monotonic += 10_000
    assert.equal(await serving.poll(), 'snapshot')
    for (const key of keys) assert.equal(serving.code(key), 'valid', `round ${round}`)
    assert.deepEqual([serving.served.store?.size, serving.served.store?.evictions], [4, 1])
  }
})

test('a delta beyond the limit drops the least recently used key, which is then not_held', async () => {
  const [first = '', second = ''] = issue(2)
  const { poll, code, served } = node({ maxCachedKeys: 2, maxAutoCachedKeys: 0 })
  await poll()
  code(second)
  code(first)
  const [third = ''] = issue(1, 3)
  await poll()
  assert.deepEqual([code(first), code(second), code(third)], ['valid', 'not_held', 'valid'])
  assert.equal(served.store?.evictions, 1)
})

test('a keyring with tenantIds requests each once, sorted, and accepts no other tenant’s keys', async () => {
  const { poll, code, odd } = node({ tenantIds: [id(0xa001), id(0xa000), id(0xa001)] })
  issue(1)
  await poll()
  assert.equal(service.asked[0]?.url.searchParams.get('tenant_id'), `${id(0xa000)},${id(0xa001)}`)
  const foreign = drawKey()
  service.upsert(policyKey(foreign, 2, { tenant_id: id(0xa002) }))
  await poll()
  assert.deepEqual([code(foreign), odd.map(error => error.code)], ['unknown_key', ['unreadable_key']])
})

test('a keyring of both environments names neither, and accepts both', async () => {
  service.env = null
  const { poll, code } = node({ env: 'both' })
  const [live, testing] = [drawKey(), drawKey('kr_test')]
  service.upsert(policyKey(live, 1))
  service.upsert(policyKey(testing, 2))
  await poll()
  assert.equal(service.asked[0]?.url.searchParams.get('env'), null)
  assert.deepEqual([code(live), code(testing)], ['valid', 'valid'])
})

/** Makes the next pages take a second each, on the node's clock. */
function slowPages(time: { monotonic: number }, count: number): void {
  const before = () => {
    time.monotonic += 1_000
  }
  for (let times = 0; times < count; times++) service.instead.push({ before })
}

test('a walk is reported at half of the life, and given up before its end', async () => {
  const keys = issueKeys(service, 100)
  const { poll, fails, code, time, odd } = openNode(service, { cachedTtlMs: 20_000 })
  await poll()
  service.pageKeys = 2
  service.floor = ++service.version
  slowPages(time, 49)
  const from = time.monotonic
  await fails('slow_snapshot')
  assert.ok(time.monotonic - from < 20_000, `after ${time.monotonic - from} ms`)
  assert.deepEqual(
    odd.map(({ message }) => message),
    ['A snapshot has taken 11 s and 11 pages so far and goes on; meanwhile the keys held go stale'],
  )
  assert.equal(code(keys[0] ?? ''), 'valid')
  service.instead.length = 0
  assert.equal(await poll(), 'snapshot')
  assert.equal(code(keys[0] ?? ''), 'valid')
})

test('a page that hangs ends with the time of its walk', async () => {
  issueKeys(service, 4)
  const { poll, fails, time } = openNode(service, { cachedTtlMs: 10_000 })
  await poll()
  service.pageKeys = 2
  service.floor = ++service.version
  service.instead.push({
    before: () => {
      time.monotonic += 8_900
    },
  })
  service.instead.push({
    before: () => {
      time.monotonic += 100
    },
    hang: true,
  })
  await fails('slow_snapshot')
})

test('without keys a walk goes on for ten lives, and what it brings waits for the next answer', async () => {
  const keys = issueKeys(service, 140)
  service.pageKeys = 2
  const { poll, fails, code, time, odd } = openNode(service, { cachedTtlMs: 6_000 })
  slowPages(time, 70)
  await fails('slow_snapshot')
  assert.equal(odd.length, 1)
  service.instead.length = 0
  service.pageKeys = 7
  slowPages(time, 20)
  assert.equal(await poll(), 'snapshot')
  assert.equal(code(keys[0] ?? ''), 'stale')
  assert.equal(await poll(), 'unchanged')
  assert.equal(code(keys[0] ?? ''), 'valid')
})
