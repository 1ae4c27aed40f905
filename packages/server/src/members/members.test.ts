import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { type MadePerson, makePerson } from '../../test/people.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

/** A workspace with the owner who created it. */
async function makeOwned() {
  const owner = await makePerson(query, { name: 'Olive' })
  const { status, body } = await ask('POST', '/v1/workspaces', {
    token: owner.token,
    body: { name: 'Acme', slug: uniqueSlug() },
  })
  assert.equal(status, 201)
  return { owner, workspaceId: body.id as string, live: body.secret_key.key as string, made: body }
}
const changeRole = (token: string, userId: string, role: string) =>
  ask('PATCH', `/v1/members/${userId}`, { token, body: { role } })
const remove = (token: string, userId: string) => ask('DELETE', `/v1/members/${userId}`, { token })
const auditOf = async (token: string) =>
  (await ask('GET', '/v1/audit_logs?limit=200', { token })).body.data.map(
    // biome-ignore lint/suspicious/noExplicitAny: rows of the API, held against its schema.
    ({ action, actor_type, actor_id, target_id, payload }: any) => ({
      action,
      actor_type,
      actor_id,
      target_id,
      payload,
    }),
  )

test('the creator owns a workspace; a session without one moves in, others stay', async () => {
  const { owner, workspaceId, made } = await makeOwned()
  assert.deepEqual(made.secret_key.created_by, { type: 'user', id: owner.userId })
  const { body: me } = await ask('GET', '/v1/auth/me', { token: owner.token })
  assert.deepEqual([me.workspace_id, me.role], [workspaceId, 'owner'])
  const second = await ask('POST', '/v1/workspaces', {
    token: owner.token,
    body: { name: 'Second', slug: uniqueSlug() },
  })
  const { body: still } = await ask('GET', '/v1/auth/me', { token: owner.token })
  assert.equal(still.workspace_id, workspaceId)
  assert.deepEqual(
    still.workspaces.map(({ id, role }: { id: string; role: string }) => [id, role]),
    [
      [workspaceId, 'owner'],
      [second.body.id, 'owner'],
    ],
  )
})

test('an Idempotency-Key still finds its creation after the session has moved', async () => {
  const { token } = await makePerson(query)
  const create = () =>
    ask('POST', '/v1/workspaces', {
      token,
      headers: { 'idempotency-key': 'once' },
      body: { name: 'Once', slug: 'made-only-once' },
    })
  const first = await create()
  const again = await create()
  assert.deepEqual([first.status, again.status, again.headers['idempotent-replayed']], [201, 201, 'true'])
  assert.equal(again.body.id, first.body.id)
  assert.equal(again.body.secret_key.key, undefined)
})

test('a new role applies from the person’s next request, up or down', async () => {
  const { owner, workspaceId } = await makeOwned()
  const { token, userId } = await makePerson(query, { workspaceId, role: 'member' })
  const tries = () => ask('POST', '/v1/tenants', { token, body: { external_id: uniqueSlug() } })
  assert.equal((await tries()).body.code, 'forbidden')
  const changed = await changeRole(owner.token, userId, 'admin')
  assert.deepEqual([changed.status, changed.body.role, changed.body.user_id], [200, 'admin', userId])
  assert.equal((await tries()).status, 201)
  await changeRole(owner.token, userId, 'member')
  assert.equal((await tries()).body.code, 'forbidden')
})

test('a removed person loses access at once; their keys stay active and are listed', async () => {
  const { owner, workspaceId } = await makeOwned()
  const person = await makePerson(query, { workspaceId, role: 'admin' })
  const key = await ask('POST', '/v1/secret_keys', { token: person.token, body: { env: 'live', name: 'ci' } })
  const revoked = await ask('POST', '/v1/secret_keys', { token: person.token, body: { env: 'test' } })
  await ask('POST', `/v1/secret_keys/${revoked.body.id}/revoke`, { token: person.token })
  assert.deepEqual(key.body.created_by, { type: 'user', id: person.userId })
  assert.equal(key.body.role, 'admin')

  const { body } = await remove(owner.token, person.userId)
  assert.deepEqual([body.object, body.id, body.deleted], ['member', person.userId, true])
  assert.deepEqual(
    body.secret_keys.data.map(({ id }: { id: string }) => id),
    [key.body.id],
  )
  assert.equal((await ask('GET', '/v1/workspace', { token: person.token })).body.code, 'no_workspace')
  const { body: me } = await ask('GET', '/v1/auth/me', { token: person.token })
  assert.deepEqual([me.workspace_id, me.role, me.workspaces], [null, null, []])
  assert.equal((await ask('GET', '/v1/workspace', { token: key.body.key })).status, 200)
  assert.equal((await remove(owner.token, person.userId)).status, 404)
})

test('a removal lists keys made by the person’s keys too, also through a revoked one', async () => {
  const { owner, live, made } = await makeOwned()
  const second = await makePerson(query, { workspaceId: made.id, role: 'owner' })
  const child = await ask('POST', '/v1/secret_keys', { token: live, body: { env: 'live' } })
  const grandchild = await ask('POST', '/v1/secret_keys', { token: child.body.key, body: { env: 'test' } })
  const { body: successor } = await ask('POST', `/v1/secret_keys/${made.secret_key.id}/rotate`, {
    token: live,
    body: { overlap_hours: 0 },
  })
  await ask('POST', `/v1/secret_keys/${child.body.id}/revoke`, { token: second.token })
  await ask('POST', '/v1/secret_keys', { token: second.token, body: { env: 'live' } })
  const { body } = await remove(second.token, owner.userId)
  assert.deepEqual(
    body.secret_keys.data.map(({ id }: { id: string }) => id).toSorted(),
    [grandchild.body.id, successor.id].toSorted(),
  )
})

for (const [what, cease] of Object.entries({
  removed: (by: MadePerson, userId: string) => remove(by.token, userId),
  demoted: (by: MadePerson, userId: string) => changeRole(by.token, userId, 'admin'),
})) {
  test(`once an owner is ${what}, no invitation that they made lets anyone in`, async () => {
    const { owner, workspaceId } = await makeOwned()
    const second = await makePerson(query, { workspaceId, role: 'owner' })
    const invite = (token: string) =>
      ask('POST', '/v1/invites', { token, body: { email: `${uniqueSlug()}@example.com`, role: 'owner' } })
    const theirs = await invite(second.token)
    const ours = await invite(owner.token)
    assert.equal((await cease(owner, second.userId)).status, 200)
    const stranger = await makePerson(query)
    const accept = (token: string) =>
      ask('POST', '/v1/auth/invites/accept', { token: stranger.token, body: { token } })
    assert.equal((await accept(theirs.body.token)).body.code, 'invalid_token')
    assert.equal((await accept(ours.body.token)).status, 200)
    const rows = await auditOf(owner.token)
    assert.deepEqual(
      rows
        .filter(({ action }: { action: string }) => action === 'workspace_invite.revoked')
        .map((row: { target_id: string; payload: { reason: string } }) => [
          row.target_id,
          row.payload.reason,
        ]),
      [[theirs.body.id, 'inviter_removed']],
    )
  })
}

test('no caller can remove or demote the last owner', async () => {
  const { owner, workspaceId, live } = await makeOwned()
  await makePerson(query, { workspaceId, role: 'admin' })
  for (const token of [owner.token, live]) {
    assert.deepEqual((await remove(token, owner.userId)).body.code, 'last_owner')
    assert.deepEqual((await changeRole(token, owner.userId, 'admin')).body.code, 'last_owner')
    assert.equal((await changeRole(token, owner.userId, 'owner')).status, 200)
  }
})

for (const [what, leave] of Object.entries({
  'leave at the same moment': (by: MadePerson) => remove(by.token, by.userId),
  'step down at the same moment': (by: MadePerson) => changeRole(by.token, by.userId, 'member'),
})) {
  test(`when two owners ${what}, one stays`, async () => {
    for (let round = 0; round < 10; round++) {
      const { owner, workspaceId } = await makeOwned()
      const second = await makePerson(query, { workspaceId, role: 'owner' })
      const statuses = (await Promise.all([leave(owner), leave(second)])).map(({ status }) => status)
      assert.deepEqual(statuses.toSorted(), [200, 409])
      const left = await query(
        `select from workspace_members where workspace_id = $1 and role = 'owner' and removed_at is null`,
        [workspaceId],
      )
      assert.equal(left.length, 1)
    }
  })
}

test('when each of two owners removes the other, one stays', async () => {
  for (let round = 0; round < 10; round++) {
    const { owner, workspaceId } = await makeOwned()
    const second = await makePerson(query, { workspaceId, role: 'owner' })
    const answers = await Promise.all([
      remove(owner.token, second.userId),
      remove(second.token, owner.userId),
    ])
    assert.equal(
      answers.filter(({ status }) => status === 200).length,
      1,
      JSON.stringify(answers.map(a => a.body)),
    )
  }
})

test('members are listed newest first and in pages; a workspace may have none', async () => {
  const { owner, workspaceId, live } = await makeOwned()
  const others = []
  for (let i = 0; i < 4; i++) others.push((await makePerson(query, { workspaceId })).userId)
  const whole = (await ask('GET', '/v1/members', { token: live })).body.data
  assert.deepEqual(new Set(whole.map(({ id }: { id: string }) => id)), new Set([owner.userId, ...others]))
  const paged = []
  let cursor = ''
  do {
    const { body } = await ask('GET', `/v1/members?limit=2${cursor}`, { token: owner.token })
    paged.push(...body.data)
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
  } while (cursor !== '')
  assert.deepEqual(paged, whole)
  const { live: lonely } = await makeVendor(harness)
  assert.deepEqual((await ask('GET', '/v1/members', { token: lonely })).body.data, [])
})

test('the audit log has each change of a member once, with addresses outside the hash', async () => {
  const { owner, workspaceId } = await makeOwned()
  const { userId, email } = await makePerson(query, { workspaceId, role: 'member' })
  await changeRole(owner.token, userId, 'member')
  await changeRole(owner.token, userId, 'admin')
  await remove(owner.token, userId)
  const rows = await auditOf(owner.token)
  assert.deepEqual(
    rows.map(({ action }: { action: string }) => action),
    [
      'workspace.created',
      'workspace_member.joined',
      'secret_key.created',
      'workspace_member.role_changed',
      'workspace_member.removed',
    ],
  )
  const [, joined, , changed, removed] = rows
  assert.deepEqual(
    [joined.payload.email, joined.payload.role, joined.target_id],
    [owner.email, 'owner', owner.userId],
  )
  assert.deepEqual([changed.payload.role, changed.payload.email], [{ old: 'member', new: 'admin' }, email])
  assert.deepEqual([removed.payload.role, removed.payload.email, removed.target_id], ['admin', email, userId])
  for (const row of rows) assert.deepEqual([row.actor_type, row.actor_id], ['user', owner.userId])
  const hashed = await query('select payload from audit_logs where workspace_id = $1', [workspaceId])
  assert.ok(!JSON.stringify(hashed).includes('@example.com'))
})

test('the audit log names the acting person, also after they leave, but not to a test key', async () => {
  const { owner, workspaceId, live } = await makeOwned()
  const person = await makePerson(query, { workspaceId, role: 'admin', name: 'Pat' })
  await ask('POST', '/v1/tenants', { token: person.token, body: { external_id: 'theirs' } })
  const test = await ask('POST', '/v1/secret_keys', { token: owner.token, body: { env: 'test' } })
  await remove(owner.token, person.userId)
  const actorOf = async (token: string) =>
    (await ask('GET', '/v1/audit_logs', { token })).body.data.find(
      ({ action }: { action: string }) => action === 'tenant.created',
    ).actor
  assert.deepEqual(await actorOf(live), { email: person.email, name: 'Pat' })
  assert.deepEqual(await actorOf(owner.token), { email: person.email, name: 'Pat' })
  assert.equal(await actorOf(test.body.key), undefined)
})
