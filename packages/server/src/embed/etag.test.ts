import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask } = harness

test('the list of keys is 304 for its ETag until something in it changes, and no cache keeps it', async () => {
  const own = await makeVendor(harness)
  const token = await mintToken(harness, own)
  const { id } = (await ask('POST', '/v1/embed/keys', { token, body: { name: 'First' } })).body
  const list = (tag?: string, by = token) =>
    ask('GET', '/v1/embed/keys', {
      token: by,
      headers: { ...(tag !== undefined && { 'if-none-match': tag }) },
    })
  const first = await list()
  const tag = String(first.headers.etag)
  assert.match(tag, /^W\/"[\w-]{43}"$/)
  for (const sent of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
    const again = await list(sent)
    assert.deepEqual([again.status, again.body, again.headers.etag], [304, '', tag], sent)
    assert.equal(again.headers['cache-control'], 'no-store')
  }
  for (const sent of ['"other"', '', tag.slice(0, -2)]) assert.equal((await list(sent)).status, 200, sent)
  // The list of another tenant has another tag.
  const otherTenant = await mintToken(harness, await makeVendor(harness))
  assert.equal((await list(tag, otherTenant)).status, 200)
  await ask('POST', `/v1/embed/keys/${id}/revoke`, { token })
  const changed = await list(tag)
  assert.deepEqual([changed.status, changed.body.data], [200, []])
  // The credential comes first: a tag opens nothing.
  const ended = await list(tag, await mintToken(harness, own, { scopes: [] }))
  assert.deepEqual([ended.status, ended.headers.etag], [403, undefined])
})
