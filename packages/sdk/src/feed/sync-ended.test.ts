import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { id, policyKey } from '../../test/keys.ts'
import { issueKeys, openNode } from '../../test/node.ts'
import type { KeyringOptions } from '../keyring/options.ts'

/** The verdicts on keys that the service removed from a node. */

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const node = (options: Partial<KeyringOptions> = {}) => openNode(service, options)
const issue = (count: number, from = 1) => issueKeys(service, count, from)
/** Makes the next answer a snapshot. */
const reseed = () => {
  service.version++
  service.floor = service.version
}

test('a revoked key is revoked on nodes that held it, and unknown on others', async () => {
  const [first = '', second = ''] = issue(2)
  const early = node()
  await early.poll()
  service.revoke(id(1))
  const late = node()
  await late.poll()
  const [brief = ''] = issue(1, 3)
  service.revoke(id(3))
  service.revoke(id(2))
  for (const { poll } of [early, late]) assert.equal(await poll(), 'delta')
  const codes = ({ code }: typeof early) => [first, second, brief].map(code)
  assert.deepEqual(codes(early), ['revoked_key', 'revoked_key', 'unknown_key'])
  assert.deepEqual(codes(late), ['unknown_key', 'revoked_key', 'unknown_key'])
})

test('a key removed after its expiry is expired, and one removed before it is revoked', async () => {
  const [over = '', ahead = '', shortened = ''] = issue(3)
  const times = [Date.now() - 60_000, Date.now() + 3_600_000, Date.now() + 3_600_000]
  for (const [at, key] of [over, ahead, shortened].entries())
    service.upsert(policyKey(key, at + 1, { expires_at: new Date(times[at] ?? 0).toISOString() }))
  const { poll, code } = node()
  await poll()
  service.upsert(policyKey(shortened, 3, { expires_at: new Date(Date.now() - 1).toISOString() }))
  await poll()
  for (const number of [1, 2, 3]) service.revoke(id(number))
  await poll()
  assert.deepEqual([over, ahead, shortened].map(code), ['expired_key', 'revoked_key', 'expired_key'])
})

test('a key that returns is valid, or not_held if the store is full, but not revoked', async () => {
  const bounds = { maxCachedKeys: 2, maxAutoCachedKeys: 2 }
  const [first = ''] = issue(1)
  const { poll, code } = node(bounds)
  await poll()
  service.revoke(id(1))
  await poll()
  assert.equal(code(first), 'revoked_key')
  service.upsert(policyKey(first, 1))
  await poll()
  assert.equal(code(first), 'valid')
  issue(2, 2)
  await poll()
  assert.equal(code(first), 'not_held')
})

test('a snapshot ends no key and forgets no end, except of keys that it contains', async () => {
  const [revoked = '', renewed = '', missing = '', kept = ''] = issue(4)
  const { poll, code } = node()
  await poll()
  service.revoke(id(1))
  service.revoke(id(2))
  await poll()
  service.keys.set(id(2), policyKey(renewed, 2))
  service.keys.delete(id(3))
  reseed()
  service.pageKeys = 1
  service.instead.push({ before: () => {} }, { status: 503 })
  await assert.rejects(poll())
  assert.deepEqual([revoked, renewed, missing].map(code), ['revoked_key', 'revoked_key', 'valid'])
  assert.equal(await poll(), 'snapshot')
  assert.deepEqual([revoked, renewed, missing, kept].map(code), [
    'revoked_key',
    'valid',
    'unknown_key',
    'valid',
  ])
})

test('a key that returns in a walk with a full store is not called revoked', async () => {
  const [first = '', second = ''] = issue(2)
  const { poll, code } = node({ maxCachedKeys: 2, maxAutoCachedKeys: 2 })
  await poll()
  service.revoke(id(1))
  issue(1, 3)
  await poll()
  service.keys.set(id(1), policyKey(first, 1))
  reseed()
  await poll()
  assert.deepEqual([first, second].map(code), ['not_held', 'valid'])
})

test('all keys of a deleted project are revoked, after a delta or a snapshot', async () => {
  const keys = issue(3)
  const nodes = [node(), node()]
  for (const { poll } of nodes) await poll()
  service.delete()
  assert.equal(await nodes[0]?.poll(), 'delta')
  service.floor = service.version
  assert.equal(await nodes[1]?.poll(), 'snapshot')
  for (const { code } of nodes) for (const key of keys) assert.equal(code(key), 'revoked_key')
})
