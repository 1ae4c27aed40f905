import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { idsOf, makersOf } from '../../test/makers.ts'
import { makePerson } from '../../test/people.ts'
import { makeVendor } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'

const harness = await startHarness()
const { ask, query } = harness
const { makeKey, invite, revoke, accept, isAlive, statusOf, revocationsIn, makeScene } = makersOf(harness)
type Scene = Awaited<ReturnType<typeof makeScene>>

test('a removed owner cannot return by an invitation made by a key of theirs', async () => {
  const { owner, leaver, child } = await makeScene()
  const kept = await invite(child.key)
  const removed = await ask('DELETE', `/v1/members/${leaver.userId}`, { token: owner.token })
  assert.equal(removed.status, 200)
  for (const { id } of removed.body.secret_keys.data)
    assert.equal((await revoke(owner.token, id)).status, 200)
  assert.equal((await accept(leaver, kept)).body.code, 'invalid_token')
  assert.equal((await ask('GET', '/v1/workspace', { token: leaver.token })).body.code, 'no_workspace')
  const { body } = await ask('GET', '/v1/members', { token: owner.token })
  assert.ok(!idsOf(body.data).includes(leaver.userId))
})

test('an invitation returns its maker, a person or a secret key', async () => {
  const { owner, live, liveId } = await makeScene()
  assert.deepEqual((await invite(live)).created_by, { type: 'secret_key', id: liveId })
  assert.deepEqual((await invite(owner.token)).created_by, { type: 'user', id: owner.userId })
  const { body } = await ask('GET', '/v1/invites', { token: live })
  assert.deepEqual(
    body.data.map((row: { created_by: unknown }) => row.created_by),
    [
      { type: 'user', id: owner.userId },
      { type: 'secret_key', id: liveId },
    ],
  )
})

/** Each ends a maker, and returns that maker and the reason that the audit log then has. */
const ends = {
  'a person is removed': async ({ owner, leaver }: Scene) => {
    const answer = await ask('DELETE', `/v1/members/${leaver.userId}`, { token: owner.token })
    return { answer, ancestor: { type: 'user', id: leaver.userId }, reason: 'inviter_removed' }
  },
  'a person is demoted': async ({ owner, leaver }: Scene) => {
    const answer = await ask('PATCH', `/v1/members/${leaver.userId}`, {
      token: owner.token,
      body: { role: 'admin' },
    })
    return { answer, ancestor: { type: 'user', id: leaver.userId }, reason: 'inviter_removed' }
  },
  'a secret key is revoked': async ({ owner, child }: Scene) => ({
    answer: await revoke(owner.token, child.id),
    ancestor: { type: 'secret_key', id: child.id },
    reason: 'inviter_revoked',
  }),
}
for (const [what, end] of Object.entries(ends)) {
  test(`when ${what}, all invitations that descend from it end at once`, async () => {
    const scene = await makeScene()
    const { owner, live, child, grandchild, leaver, workspaceId } = scene
    const theirs = [await invite(child.key), await invite(grandchild.key)]
    const accepted = await invite(grandchild.key)
    const joined = await makePerson(query)
    assert.equal((await accept(joined, accepted)).status, 200)
    const others = [await invite(owner.token), await invite(live)]
    const { answer, ancestor, reason } = await end(scene)
    assert.equal(answer.status, 200)
    const stranger = await makePerson(query)
    for (const one of theirs) {
      assert.equal(await statusOf(live, one), 'revoked')
      assert.equal((await accept(stranger, one)).body.code, 'invalid_token')
      assert.equal((await accept(leaver, one)).body.code, 'invalid_token')
    }
    for (const one of others) assert.equal(await statusOf(live, one), 'pending')
    assert.equal(await statusOf(live, accepted), 'accepted')
    assert.equal((await ask('GET', '/v1/workspace', { token: joined.token })).status, 200)
    // One transaction after that of the end: the audit rows are adjacent and have one timestamp.
    const stamps = await query(
      `select distinct created_at, seq - row_number() over (order by seq) as run from audit_logs
       where workspace_id = $1 and target_id = any($2) and action !~ 'created|joined'`,
      [workspaceId, idsOf(theirs)],
    )
    assert.equal(stamps.length, 1, JSON.stringify(stamps))
    assert.deepEqual(
      (await revocationsIn(live)).filter(row => row.action === 'workspace_invite.revoked'),
      theirs.map(({ id }) => ({ action: 'workspace_invite.revoked', target_id: id, reason, ancestor })),
    )
    // The keys stay active, except the one that was revoked itself.
    assert.ok(await isAlive(grandchild))
    assert.deepEqual(await faultsOf(query, workspaceId), [])
  })
}

test('a refused removal revokes nothing', async () => {
  const { live, workspaceId } = await makeVendor(harness)
  const { token, userId } = await makePerson(query, { workspaceId, role: 'owner' })
  const child = await makeKey(token)
  const pending = await invite(child.key)
  const refused = await ask('DELETE', `/v1/members/${userId}?revoke_keys=true`, { token: live })
  assert.equal(refused.body.code, 'last_owner')
  assert.ok(await isAlive(child))
  assert.equal(await statusOf(live, pending), 'pending')
  assert.deepEqual(await revocationsIn(live), [])
})

test('the same or a higher role ends no invitation', async () => {
  const { owner, leaver, child, live } = await makeScene()
  const pending = await invite(child.key)
  const change = (role: string) =>
    ask('PATCH', `/v1/members/${leaver.userId}`, { token: owner.token, body: { role } })
  await change('owner')
  assert.equal(await statusOf(live, pending), 'pending')
  await change('admin')
  assert.equal(await statusOf(live, pending), 'revoked')
  const later = await invite(child.key)
  for (const role of ['admin', 'owner']) await change(role)
  assert.equal(await statusOf(live, later), 'pending')
})

test('an invitation with an unknown maker ends with the first maker that ends', async () => {
  const { live, owner, child } = await makeScene()
  const unknown = await invite(live)
  const known = await invite(live)
  await query('update workspace_invites set created_by_type = null, created_by_id = null where id = $1', [
    unknown.id,
  ])
  const ofPerson = await invite(owner.token)
  // As the previous release writes it.
  await query('update workspace_invites set created_by_type = null, created_by_id = null where id = $1', [
    ofPerson.id,
  ])
  await revoke(live, child.id)
  assert.deepEqual(
    [await statusOf(live, unknown), await statusOf(live, known), await statusOf(live, ofPerson)],
    ['revoked', 'pending', 'pending'],
  )
  await ask('DELETE', `/v1/members/${owner.userId}`, { token: live })
  assert.equal(await statusOf(live, ofPerson), 'revoked')
})
