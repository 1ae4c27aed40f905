import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { issueKeys, openNode } from '../../test/node.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

/** A node whose answers come 8 s after they were asked for, and what it holds them for, from the time of the request. */
async function polled(heldMs: number | undefined, { changes = false } = {}) {
  const [key = ''] = issueKeys(service, 1)
  const node = openNode(service)
  await node.poll()
  node.time.monotonic = 100_000
  if (changes) issueKeys(service, 1, 2)
  service.heldMs = heldMs
  service.instead.push({
    before() {
      node.time.monotonic += 8_000
    },
  })
  await node.poll()
  return { ...node, key, confirmedMs: (node.served.store?.confirmedAt ?? 0) - 100_000 }
}

test('keys live from the last look of the service at their version, by what a held answer says', async () => {
  const { time, code, key, confirmedMs } = await polled(7_000)
  assert.equal(confirmedMs, 7_000)
  time.monotonic = 100_000 + 7_000 + 9_999
  assert.equal(code(key), 'valid')
  time.monotonic += 1
  assert.notEqual(code(key), 'valid')
  assert.equal(
    service.asked.at(-1)?.url.searchParams.get('features'),
    'cidr,external_id,imported,key_meta,lifetime,suspended,held_ms',
  )
  assert.equal(
    service.asked[0]?.url.searchParams.get('features'),
    'cidr,external_id,imported,key_meta,lifetime,suspended',
    'a snapshot is never held',
  )
})

test('a held answer with changes says so too', async () => {
  assert.equal((await polled(6_500, { changes: true })).confirmedMs, 6_500)
})

test('an answer that says nothing of it counts from the request', async () => {
  for (const heldMs of [undefined, 0]) assert.equal((await polled(heldMs)).confirmedMs, 0, `${heldMs}`)
})

test('a service with a clock that lies or leaps gains no time beyond the receipt', async () => {
  for (const heldMs of [8_001, 60_000, Number.MAX_SAFE_INTEGER])
    assert.equal((await polled(heldMs)).confirmedMs, 8_000, `${heldMs}`)
})
