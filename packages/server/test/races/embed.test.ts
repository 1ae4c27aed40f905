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
}
