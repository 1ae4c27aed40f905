import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { addMember, type MadePerson, makePerson, openSession } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

/** A workspace with the owner who created it. */
async function makeOwned() {
  const owner = await makePerson(query)
  const body = { name: 'Acme', slug: uniqueSlug() }
  const { body: made } = await ask('POST', '/v1/workspaces', { token: owner.token, body })
  return { owner, workspaceId: made.id as string }
}
const leave = ({ token }: Pick<MadePerson, 'token'>, workspaceId: string) =>
  ask('POST', `/v1/auth/workspaces/${workspaceId}/leave`, { token })
const codeOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.code]

for (const role of ['owner', 'admin', 'member'] as const) {
  test(`a person with the role ${role} leaves, with what a removal causes, and nothing else`, async () => {
    const { owner, workspaceId } = await makeOwned()
    const person = await makePerson(query, { workspaceId, role })
    const other = await openSession(query, person.userId, workspaceId)
    await query('update workspace_members set role = $2 where user_id = $1', [person.userId, 'owner'])
    const email = `${uniqueSlug()}@example.com`
    const asked = { token: person.token, body: { email, role: 'member' } }
    const invite = await ask('POST', '/v1/invites', asked)
    const key = await ask('POST', '/v1/secret_keys', { token: person.token, body: { env: 'live' } })
    await query('update workspace_members set role = $2 where user_id = $1', [person.userId, role])

    const { status, body } = await leave(person, workspaceId)
    assert.deepEqual([status, body.object, body.id, body.deleted], [200, 'member', person.userId, true])
    assert.deepEqual(
      body.secret_keys.data.map(({ id }: { id: string }) => id),
      [key.body.id],
    )
    assert.equal((await ask('GET', '/v1/workspace', { token: key.body.key })).status, 200)
    for (const { token } of [person, other])
      assert.equal((await ask('GET', '/v1/workspace', { token })).body.code, 'no_workspace')
    const stranger = await makePerson(query)
    const acceptance = { token: stranger.token, body: { token: invite.body.token } }
    assert.equal((await ask('POST', '/v1/auth/invites/accept', acceptance)).body.code, 'invalid_token')
    assert.equal((await leave(person, workspaceId)).status, 404)
    const row = (await ask('GET', '/v1/audit_logs?action=workspace_member.removed', { token: owner.token }))
      .body.data[0]
    assert.deepEqual([row.actor_id, row.target_id], [person.userId, person.userId])
    assert.deepEqual([row.payload.role, row.payload.reason], [role, 'left'])
  })
}

test('a person leaves a workspace in which their session does not act, and stays in the other', async () => {
  const [here, there] = [await makeOwned(), await makeOwned()]
  const person = await makePerson(query, { workspaceId: here.workspaceId, role: 'member' })
  await addMember(query, there.workspaceId, person.userId, 'member')
  assert.equal((await leave(person, there.workspaceId)).status, 200)
  const { body: me } = await ask('GET', '/v1/auth/me', { token: person.token })
  assert.deepEqual(
    [me.workspace_id, me.workspaces.map(({ id }: { id: string }) => id)],
    [here.workspaceId, [here.workspaceId]],
  )
  const foreign = await makeOwned()
  for (const id of [foreign.workspaceId, crypto.randomUUID()])
    assert.equal((await leave(person, id)).body.code, 'not_found')
})

test('the last owner cannot leave, and a person decides about an unproven workspace first', async () => {
  const { owner, workspaceId } = await makeOwned()
  await makePerson(query, { workspaceId, role: 'admin' })
  assert.deepEqual(codeOf(await leave(owner, workspaceId)), [409, 'last_owner'])
  await query('update users set disowned_count = 1 where id = $1', [owner.userId])
  assert.deepEqual(codeOf(await leave(owner, workspaceId)), [403, 'workspace_unproven'])
  const { body } = await ask('GET', '/v1/auth/me', { token: owner.token })
  assert.equal(body.workspaces.length, 1)
})

test('when two owners leave at the same moment, one stays', async () => {
  for (let round = 0; round < 10; round++) {
    const { owner, workspaceId } = await makeOwned()
    const second = await makePerson(query, { workspaceId, role: 'owner' })
    const answers = await Promise.all([leave(owner, workspaceId), leave(second, workspaceId)])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
    const owners = `select from workspace_members where workspace_id = $1 and role = 'owner' and removed_at is null`
    assert.equal((await query(owners, [workspaceId])).length, 1)
  }
})
