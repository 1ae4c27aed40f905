import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { idsOf, type MadeKey, makersOf } from '../../test/makers.ts'
import { issueKey } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'

const harness = await startHarness()
const { ask, query } = harness
const { makeKey, invite, revoke, isAlive, statusOf, revocationsIn, makeScene } = makersOf(harness)
type Scene = Awaited<ReturnType<typeof makeScene>>

const rotate = async (token: string, id: string): Promise<MadeKey> => {
  const { status, body } = await ask('POST', `/v1/secret_keys/${id}/rotate`, { token })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** A use is written after its response, at some time. */
const withoutUses = ({ descendants, ...key }: { descendants: { data: object[] } }) =>
  [key, ...descendants.data].map(one => ({ ...one, last_used_at: undefined }))

test('a revocation lists the active keys made by the key; `cascade` revokes and audits each', async () => {
  const scene = await makeScene()
  const { live, owner, child, grandchild, workspaceId } = scene
  const issued = await issueKey(harness, { ...scene, live: grandchild.key })
  const other = await makeKey(child.key, 'test')
  const dead = await makeKey(child.key)
  await revoke(live, dead.id)
  const listed = await revoke(owner.token, child.id, { reason: 'left' })
  assert.deepEqual(idsOf(listed.body.descendants.data), [other.id, grandchild.id])
  assert.deepEqual(
    listed.body.descendants.data.map((key: { revoked_at: unknown }) => key.revoked_at),
    [null, null],
  )
  assert.ok((await isAlive(grandchild)) && (await isAlive(other)))

  const ended = await revoke(owner.token, child.id, { cascade: true })
  assert.equal(ended.body.revoked_reason, 'left')
  assert.deepEqual(idsOf(ended.body.descendants.data), [other.id, grandchild.id])
  for (const key of ended.body.descendants.data)
    assert.deepEqual([typeof key.revoked_at, key.revoked_reason], ['string', 'cascade'])
  assert.ok(!(await isAlive(grandchild)) && !(await isAlive(other)))
  const again = await revoke(owner.token, child.id, { cascade: true })
  assert.deepEqual(withoutUses(again.body), withoutUses(ended.body))

  const ancestor = { type: 'secret_key', id: child.id }
  const row = (target_id: string, reason: string, from: object | undefined) => ({
    action: 'secret_key.revoked',
    target_id,
    reason,
    ancestor: from,
  })
  assert.deepEqual((await revocationsIn(live)).slice(1), [
    row(child.id, 'left', undefined),
    row(grandchild.id, 'cascade', ancestor),
    row(other.id, 'cascade', ancestor),
  ])
  // Keys of tenants do not end with the secret key that issued them.
  const { body } = await ask('GET', `/v1/keys/${issued.id}`, { token: live })
  assert.equal(body.revoked_at, null)
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

for (const [what, call] of Object.entries({
  'removing a person': ({ owner, leaver }: Scene, revokes: boolean) =>
    ask('DELETE', `/v1/members/${leaver.userId}?revoke_keys=${revokes}`, { token: owner.token }),
  'demoting a person': ({ owner, leaver }: Scene, revokes: boolean) =>
    ask('PATCH', `/v1/members/${leaver.userId}`, {
      token: owner.token,
      body: { role: 'member', revoke_keys: revokes },
    }),
})) {
  test(`${what} lists the keys made by them, directly or not; \`revoke_keys\` revokes them`, async () => {
    const kept = await makeScene()
    const { body: listed } = await call(kept, false)
    assert.deepEqual(idsOf(listed.secret_keys.data), [kept.grandchild.id, kept.child.id])
    assert.ok((await isAlive(kept.child)) && (await isAlive(kept.grandchild)))

    const scene = await makeScene()
    const { child, grandchild, live, leaver, workspaceId } = scene
    const { body } = await call(scene, true)
    assert.deepEqual(idsOf(body.secret_keys.data), [grandchild.id, child.id])
    assert.ok(!(await isAlive(child)) && !(await isAlive(grandchild)))
    const ancestor = { type: 'user', id: leaver.userId }
    const revocation = (target_id: string) => ({
      action: 'secret_key.revoked',
      target_id,
      reason: 'cascade',
      ancestor,
    })
    assert.deepEqual(await revocationsIn(live), [revocation(child.id), revocation(grandchild.id)])
    assert.deepEqual(await faultsOf(query, workspaceId), [])
  })
}

test('a member demoted a second time loses what the second demotion says, and no more', async () => {
  const { owner, live, leaver, child, grandchild, workspaceId } = await makeScene()
  const change = async (role: string, more: object = {}) =>
    (await ask('PATCH', `/v1/members/${leaver.userId}`, { token: owner.token, body: { role, ...more } })).body
  const counted = ({
    secret_keys,
    cascade,
  }: {
    secret_keys: { data: { id: string }[] }
    cascade: object
  }) => [idsOf(secret_keys.data), cascade]
  const done = (revoked: number) => ({ state: 'done', revoked, remaining: 0 })
  const first = await change('member', { revoke_keys: true })
  assert.deepEqual(counted(first), [[grandchild.id, child.id], done(2)])

  harness.clock.advance(1)
  const promoted = await change('owner')
  const kept = await makeKey(leaver.token)
  const pending = await invite(kept.key)
  const second = await change('member')
  assert.deepEqual([await isAlive(kept), await statusOf(live, pending)], [true, 'revoked'])
  assert.deepEqual([promoted, second].map(counted), [
    [[], done(0)],
    [[kept.id], done(0)],
  ])

  await change('owner')
  assert.deepEqual(counted(await change('admin', { revoke_keys: true })), [[kept.id], done(1)])
  assert.equal(await isAlive(kept), false)
  assert.deepEqual(await faultsOf(query, workspaceId), [])
})

test('a demotion beside an undone one that revokes keys still revokes them', async () => {
  const { owner, leaver, child, workspaceId } = await makeScene()
  await query(
    `insert into endings (workspace_id, maker_type, maker_id, revokes_keys, actor_type, began_at)
     values ($1, 'user', $2, true, 'operator', now())`,
    [workspaceId, leaver.userId],
  )
  await ask('PATCH', `/v1/members/${leaver.userId}`, { token: owner.token, body: { role: 'member' } })
  assert.equal(await isAlive(child), false)
})

test('a successor counts as made by the key or person that rotated, and ends with it', async () => {
  const { owner, live, child, leaver } = await makeScene()
  const pending = await invite(child.key)
  const own = await rotate(child.key, child.id)
  assert.equal(await statusOf(live, pending), 'pending')
  const replaced = await rotate(owner.token, child.id)
  const { body } = await revoke(owner.token, child.id, { cascade: true })
  assert.ok(idsOf(body.descendants.data).includes(own.id))
  assert.deepEqual([await isAlive(own), await isAlive(replaced)], [false, true])
  assert.equal(await statusOf(live, pending), 'revoked')
  const removed = await ask('DELETE', `/v1/members/${leaver.userId}`, { token: owner.token })
  assert.deepEqual(idsOf(removed.body.secret_keys.data), [])
})

test('revoking the first key of a chain of a hundred revokes them all', async () => {
  const { live, child, grandchild } = await makeScene()
  let last = grandchild
  for (let depth = 0; depth < 100; depth++) last = await makeKey(last.key)
  const pending = await invite(last.key)
  const { body } = await revoke(live, child.id, { cascade: true })
  assert.equal(body.descendants.count, 101)
  assert.equal(await isAlive(last), false)
  assert.equal(await statusOf(live, pending), 'revoked')
})
