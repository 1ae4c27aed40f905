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
