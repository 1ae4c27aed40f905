import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootstrapToken, startHarness } from '../../test/harness.ts'
import { addMember, makePerson } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

const harness = await startHarness({ maxWorkspacesPerPerson: 3 })
const { ask, query } = harness
const create = (token: string) =>
  ask('POST', '/v1/workspaces', { token, body: { name: 'Acme', slug: uniqueSlug('acme') } })
const owned = async (userId: string) =>
  (
    await query(
      `select count(*)::int as n from workspace_members where user_id = $1 and role = 'owner' and removed_at is null`,
      [userId],
    )
  )[0].n

test('a person can own as many workspaces as the setting allows, then gets 409', async () => {
  const { token, userId } = await makePerson(query)
  for (let i = 0; i < 3; i++) assert.equal((await create(token)).status, 201)
  const refused = await create(token)
  assert.deepEqual([refused.status, refused.body.code], [409, 'workspace_limit_reached'])
  assert.equal(await owned(userId), 3)
  const left = await query(
    `update workspace_members set removed_at = now() where ctid =
       (select ctid from workspace_members where user_id = $1 limit 1) returning user_id`,
    [userId],
  )
  assert.equal(left.length, 1)
  assert.equal((await create(token)).status, 201, 'leaving a workspace makes room')
})

test('only workspaces that the person owns count', async () => {
  const { token, userId } = await makePerson(query)
  const other = await makePerson(query)
  for (const role of ['admin', 'member', 'admin', 'member']) {
    const { body } = await create((await makePerson(query)).token)
    await addMember(query, body.id, userId, role)
  }
  assert.equal((await create(token)).status, 201)
  assert.equal((await create(other.token)).status, 201)
})

test('concurrent creations do not exceed the limit', async () => {
  const { token, userId } = await makePerson(query)
  const heard = await Promise.all(Array.from({ length: 12 }, () => create(token)))
  const statuses = heard.map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [...Array(3).fill(201), ...Array(9).fill(409)])
  assert.equal(await owned(userId), 3)
})

test('the limit does not apply to the bootstrap token', async () => {
  for (let i = 0; i < 5; i++) assert.equal((await create(bootstrapToken)).status, 201)
})
