import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { askFeed } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor, type Vendor } from '../../test/vendor.ts'

/** A node counts its keys as confirmed at the `generated_at` of an answer, so each answer has its own. */

const harness = await startHarness({ policyMaxWholeKeys: 40, policyMaxPageKeys: 40 })
const { ask, app, clock } = harness
const get = askFeed(harness)
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo

/** Over a socket, in every encoding: what is shared is encoded once. */
async function fetchFeed({ projectId, live }: Vendor, path: string, more: string, encoding: string) {
  // Parameters that the service does not know are ignored, so one that never repeats defeats caches.
  const url = `http://127.0.0.1:${port}/v1/policy/${path}?project_id=${projectId}${more}&nonce=${randomUUID()}`
  const headers = { authorization: `Bearer ${live}`, 'accept-encoding': encoding }
  const response = await fetch(url, { headers })
  return { response, text: await response.text() }
}

async function assertFresh(vendor: Vendor, path: string, more = ''): Promise<void> {
  for (const encoding of ['br', 'gzip', 'identity'])
    for (let times = 0; times < 2; times++) {
      clock.advance(1_234)
      const { response, text } = await fetchFeed(vendor, path, more, encoding)
      const { generated_at, ...rest } = JSON.parse(text)
      assert.deepEqual([response.status, generated_at], [200, new Date(clock.now()).toISOString()], more)
      assert.deepEqual(rest.project_id, vendor.projectId)
      if (text.length > 2_000 && encoding !== 'identity')
        assert.equal(response.headers.get('content-encoding'), encoding)
    }
}

for (const [size, scopes, keys] of [
  ['small', 2, 3],
  ['larger than what is sent in one piece', 64, 20],
] as const)
  test(`each answer about ${size} keys says when it was given, though the rest is shared`, async () => {
    const vendor = await makeVendor(harness)
    const list = Array.from({ length: scopes }, (_, at) => `${'scope'.repeat(12)}:${at}`)
    for (let times = 0; times < keys; times++) await issueKey(harness, vendor, { scopes: list })
    const { version } = (await get(vendor, 'snapshot')).body
    const cursor = (await get(vendor, 'snapshot', '&max_keys=2')).body.next_cursor
    for (const more of ['', '&max_keys=2', `&max_keys=2&cursor=${cursor}`])
      await assertFresh(vendor, 'snapshot', more)
    for (const since of [1, version, version + 1]) await assertFresh(vendor, 'delta', `&since=${since}`)
    await ask('DELETE', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
    await assertFresh(vendor, 'snapshot')
    await assertFresh(vendor, 'delta', '&since=1')
  })

test('a HEAD request gets the length of the answer, and no body', async () => {
  const vendor = await makeVendor(harness)
  for (let times = 0; times < 20; times++)
    await issueKey(harness, vendor, { scopes: Array.from({ length: 64 }, (_, at) => 'x'.repeat(60) + at) })
  const url = `http://127.0.0.1:${port}/v1/policy/snapshot?project_id=${vendor.projectId}`
  const headers = { authorization: `Bearer ${vendor.live}`, 'accept-encoding': 'identity' }
  const whole = (await (await fetch(url, { headers })).arrayBuffer()).byteLength
  const { status, headers: got, body } = await fetch(url, { method: 'HEAD', headers })
  assert.deepEqual([status, got.get('content-length'), body], [200, String(whole), null])
  assert.ok(whole > 65_536)
})
