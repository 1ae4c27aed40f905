import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeSecretKey, uniqueSlug } from '../../test/vendor.ts'
import { faultsOf } from '../../test/whole.ts'

const harness = await startHarness({ maxWorkspacesPerPerson: 2 })
const { ask, query, deps } = harness

/** A workspace as the bootstrap token makes it, without members. */
async function makeOrphan(env?: 'test') {
  const body = { name: 'Acme', slug: uniqueSlug(), ...(env && { env }) }
  const made = await ask('POST', '/v1/workspaces', { token: deps.config.bootstrapToken ?? '', body })
  assert.equal(made.status, 201)
  return {
    id: made.body.id as string,
    live: made.body.secret_key.key as string,
    keyId: made.body.secret_key.id as string,
  }
}
const adopt = (token: string, secret_key: string) =>
  ask('POST', '/v1/auth/workspaces/adopt', { token, body: { secret_key } })
const codeOf = async (answer: ReturnType<typeof adopt>) => {
  const { status, body } = await answer
  return [status, body.code]
}

test('a person who shows an owner’s key of a workspace without members becomes its owner', async () => {
  const { id, live, keyId } = await makeOrphan()
  const person = await makePerson(query)
  const { status, body } = await adopt(person.token, live)
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual([body.id, body.role, body.unproven], [id, 'owner', false])
  const me = await ask('GET', '/v1/auth/me', { token: person.token })
  assert.deepEqual(
    [me.body.workspace_id, me.body.role],
    [id, 'owner'],
    'a session without a workspace acts there',
  )
  const log = await ask('GET', '/v1/audit_logs', { token: live })
  const row = log.body.data.at(-1)
  assert.deepEqual(
    [row.action, row.actor_type, row.actor_id, row.payload.secret_key_id],
    ['workspace_member.joined', 'user', person.userId, keyId],
  )
  assert.ok(!JSON.stringify(log.body).includes(live))
  assert.deepEqual(await faultsOf(query, id), [])
})

test('a workspace with a member is not taken by a key; of two people at once one gets it', async () => {
  const { id, live } = await makeOrphan()
  const people = await Promise.all([makePerson(query), makePerson(query)])
  const answers = await Promise.all(people.map(({ token }) => codeOf(adopt(token, live))))
  assert.deepEqual(answers.map(([status]) => status).toSorted(), [200, 409])
  const late = await makePerson(query)
  assert.deepEqual(await codeOf(adopt(late.token, live)), [409, 'workspace_taken'])
  const [members] = await query(
    'select count(*)::int as many from workspace_members where workspace_id = $1',
    [id],
  )
  assert.equal(members?.many, 1)
})

test('a key with fewer rights than an owner’s, or one that does not work, adopts nothing', async () => {
  const { live } = await makeOrphan()
  const { live: testKey } = await makeOrphan('test')
  const { token } = await makePerson(query)
  const weaker = await makeSecretKey(harness, { live }, { preset: 'node' })
  for (const key of [String(weaker.key), testKey])
    assert.deepEqual(await codeOf(adopt(token, key)), [403, 'owner_required'])
  const elsewhere = await makeSecretKey(harness, { live }, { allowed_cidrs: ['203.0.113.0/24'] })
  assert.deepEqual(await codeOf(adopt(token, String(elsewhere.key))), [403, 'ip_not_allowed'])
  const revoked = await makeSecretKey(harness, { live })
  await ask('POST', `/v1/secret_keys/${revoked.id}/revoke`, { token: live })
  for (const key of [
    String(revoked.key),
    'krsk_live_nothing',
    deps.config.bootstrapToken ?? '',
    token,
    'two words',
  ])
    assert.deepEqual(await codeOf(adopt(token, key)), [400, 'invalid_token'], key)
})

test('a person who owns as many workspaces as allowed adopts no more', async () => {
  const { token } = await makePerson(query)
  for (const expected of [200, 200, 409])
    assert.equal((await adopt(token, (await makeOrphan()).live)).status, expected)
})
