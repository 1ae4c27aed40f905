import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dump } from './dump.ts'
import { harness, heldMs, sendHeld, testHeldBodies } from './held-requests.ts'
import { addMember, makePerson } from './people.ts'
import { makeSecretKey, makeVendor } from './vendor.ts'

const { query } = harness

testHeldBodies(0)

test('a key that ends while its request’s body arrives makes no other key', async () => {
  const vendor = await makeVendor(harness)
  const { id, key } = await makeSecretKey(harness, vendor)
  const payload = JSON.stringify({ env: 'live' })
  const { status } = await sendHeld({ method: 'POST', url: '/v1/secret_keys', token: key, payload }, () =>
    harness.ask('POST', `/v1/secret_keys/${id}/revoke`, { token: vendor.live }),
  )
  assert.equal(status, 401)
  const made = await query('select id from secret_keys where created_by_id = $1', [id])
  assert.deepEqual(made, [])
})

for (const [code, isStated] of [
  ['no_workspace', false],
  ['workspace_changed', true],
] as const) {
  test(`a session that moved while a body arrived does nothing where it moved to: ${code}`, async () => {
    const [mine, other] = [await makeVendor(harness), await makeVendor(harness)]
    const { token, userId } = await makePerson(query, { workspaceId: mine.workspaceId, role: 'owner' })
    await addMember(query, other.workspaceId, userId, 'owner')
    const payload = JSON.stringify({ name: 'Held', slug: 'held' })
    const stated = isStated ? { workspaceId: mine.workspaceId } : {}
    let before: unknown
    const { status, body } = await sendHeld(
      { method: 'POST', url: '/v1/projects', token, payload, ...stated },
      async () => {
        const entered = await harness.ask('POST', '/v1/auth/sessions/current/workspace', {
          token,
          body: { workspace_id: other.workspaceId },
        })
        assert.equal(entered.status, 200)
        harness.clock.skip(heldMs)
        before = await dump(query)
      },
    )
    assert.deepEqual([status, body.code], [isStated ? 409 : 403, code])
    assert.deepEqual(await dump(query), before)
  })
}
