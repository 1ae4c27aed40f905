import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../embed.ts'
import { startHarness } from '../harness.ts'
import { issueKey, makeVendor } from '../vendor.ts'
import { meet, openBarrier, policyHeadOf } from './barrier.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)
const vendor = await makeVendor(harness)
const keyRow = (id: string): [string, unknown[]] => ['select from api_keys where id = $1 for update', [id]]

for (const [place, heldFor] of [
  ['the key', keyRow],
  ['the policy’s head', () => policyHeadOf(vendor.projectId)],
] as const) {
  test(`a browser’s rotation that waits for ${place} checks the key’s new scopes`, async () => {
    const token = await mintToken(harness, vendor, { scopes: ['keys:write', 'key_scope:refunds'] })
    const { id } = await issueKey(harness, vendor, { scopes: ['refunds'] })
    const widen = () => ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { scopes: ['admin'] } })
    const rotate = () => ask('POST', `/v1/embed/keys/${id}/rotate`, { token })
    const [widened, rotated] = await meet(barrier, heldFor(id), [widen, rotate])
    assert.deepEqual(widened?.body.scopes, ['admin'])
    assert.deepEqual([rotated?.status, rotated?.body.code], [403, 'insufficient_scope'])
    assert.match(rotated?.body.detail, /key_scope:admin/)
    assert.deepEqual(await query('select id from api_keys where rotated_from = $1', [id]), [])
    const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
    assert.deepEqual([body.rotated_to, body.expires_at], [null, null])
  })

  test(`a browser’s rotation behind a revocation at ${place} checks its scopes first`, async () => {
    const token = await mintToken(harness, vendor, { scopes: ['keys:write', 'key_scope:refunds'] })
    const { id } = await issueKey(harness, vendor, { scopes: ['refunds'] })
    const widen = () => ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { scopes: ['admin'] } })
    const revoke = () => ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
    const rotate = () => ask('POST', `/v1/embed/keys/${id}/rotate`, { token })
    const answers = await meet(barrier, heldFor(id), [widen, revoke, rotate])
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      [
        [200, undefined],
        [200, undefined],
        [403, 'insufficient_scope'],
      ],
    )
  })

  test(`a browser’s later end that waits for ${place} meets the end that the vendor has set`, async () => {
    const token = await mintToken(harness, vendor, { scopes: ['keys:write'] })
    const { id } = await issueKey(harness, vendor, { expires_at: '2090-01-09T00:00:00Z' })
    const shorten = () =>
      ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { expires_at: '2090-01-05T00:00:00Z' } })
    const end = () =>
      ask('PATCH', `/v1/embed/keys/${id}`, { token, body: { expires_at: '2090-01-07T00:00:00Z' } })
    const [shortened, ended] = await meet(barrier, heldFor(id), [shorten, end])
    assert.equal(shortened?.status, 200)
    assert.deepEqual([ended?.status, ended?.body.errors?.[0].path], [400, 'expires_at'])
    const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
    assert.equal(body.expires_at, '2090-01-05T00:00:00.000Z')
  })

  test(`a browser’s end that waits for ${place} behind a rotation keeps within its overlap`, async () => {
    const token = await mintToken(harness, vendor, { scopes: ['keys:write'] })
    const { id } = await issueKey(harness, vendor)
    const rotate = () =>
      ask('POST', `/v1/keys/${id}/rotate`, { token: vendor.live, body: { overlap_hours: 1 } })
    const end = () =>
      ask('PATCH', `/v1/embed/keys/${id}`, { token, body: { expires_at: '2090-01-07T00:00:00Z' } })
    const [rotated, ended] = await meet(barrier, heldFor(id), [rotate, end])
    assert.deepEqual([ended?.status, ended?.body.errors?.[0].path], [400, 'expires_at'])
    const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
    assert.equal(body.expires_at, rotated?.body.predecessor.expires_at)
  })

  test(`a browser’s change behind a revocation at ${place} is refused, and changes nothing`, async () => {
    const token = await mintToken(harness, vendor, { scopes: ['keys:write'] })
    const { id } = await issueKey(harness, vendor, { name: 'Old' })
    const revoke = () => ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
    const rename = () => ask('PATCH', `/v1/embed/keys/${id}`, { token, body: { name: 'New' } })
    const [revoked, renamed] = await meet(barrier, heldFor(id), [revoke, rename])
    assert.equal(revoked?.status, 200)
    assert.deepEqual([renamed?.status, renamed?.body.code], [409, 'key_not_active'])
    assert.deepEqual(await query('select name from api_keys where id = $1', [id]), [{ name: 'Old' }])
  })
}
