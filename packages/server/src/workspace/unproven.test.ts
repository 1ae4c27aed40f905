import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makeMailedToken, makePerson } from '../../test/people.ts'
import { makeInvite, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'

const harness = await startHarness()
const { ask, query } = harness
const password = 'the password of the true owner'

/** Somebody signs up with an address that is not theirs, and makes a workspace, keys and a name. */
async function squat() {
  const squatter = await makePerson(query, { verified: false, name: 'Call 555-0100' })
  const { token } = squatter
  const made = await ask('POST', '/v1/workspaces', { token, body: { name: 'Mine', slug: uniqueSlug() } })
  assert.equal(made.status, 201)
  const first = made.body.secret_key.key as string
  const below = await ask('POST', '/v1/secret_keys', {
    token: first,
    body: { env: 'live' },
  })
  assert.equal(below.status, 201)
  return { ...squatter, workspaceId: made.body.id as string, keys: [first, below.body.key as string] }
}
const works = async (token: string) => (await ask('GET', '/v1/workspace', { token })).status === 200
const signIn = (email: string, body: object = {}) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password, ...body } })
const consume = (token: string) =>
  ask('POST', '/v1/auth/password_resets/consume', { body: { token, password } })
const reset = async (userId: string) => consume(await makeMailedToken(query, userId, 'password_reset'))
const verify = async (userId: string) =>
  ask('POST', '/v1/auth/email_verifications/consume', {
    body: { token: await makeMailedToken(query, userId, 'verification') },
  })
const nameOf = async (userId: string) =>
  (await query('select name from users where id = $1', [userId]))[0].name

test('a reset of an address that was never verified ends all that the account made', async () => {
  const { userId, email, token, keys, workspaceId } = await squat()
  const { status, body } = await reset(userId)
  assert.deepEqual([status, body.made_ended], [200, true])
  for (const one of [token, ...keys]) assert.equal(await works(one), false)
  assert.equal(await nameOf(userId), null)
  const signedIn = (await signIn(email)).body
  assert.equal(signedIn.workspace_id, null, 'the first sign-in acts in none')
  assert.equal(signedIn.user.email_verified, true)
  assert.deepEqual(
    signedIn.workspaces.map((one: { id: string; unproven: boolean }) => [one.id, one.unproven]),
    [[workspaceId, true]],
  )
})

test('so does one of an address that was verified, and not signed in to since', async () => {
  const { userId, keys } = await squat()
  assert.equal((await verify(userId)).status, 200)
  assert.equal(await works(keys[0] ?? ''), true, 'a verification link ends nothing')
  assert.equal((await reset(userId)).body.made_ended, true)
  for (const key of keys) assert.equal(await works(key), false)
})

test('after a sign-in since the address was verified, a reset ends no key', async () => {
  const { userId, email, keys, workspaceId } = await squat()
  await verify(userId)
  assert.equal((await signIn(email, { password: madePassword })).body.workspace_id, workspaceId)
  assert.equal((await reset(userId)).body.made_ended, false)
  for (const key of keys) assert.equal(await works(key), true)
  assert.equal((await signIn(email)).body.workspace_id, workspaceId)
})

test('a second reset ends nothing that its person made after the first one', async () => {
  const { userId, email } = await squat()
  await reset(userId)
  const { token } = (await signIn(email)).body
  const body = { name: 'Own', slug: uniqueSlug() }
  const own = (await ask('POST', '/v1/workspaces', { token, body })).body
  assert.equal((await reset(userId)).body.made_ended, false)
  assert.equal(await works(own.secret_key.key), true)
  assert.equal((await signIn(email)).body.workspace_id, own.id, 'the unproven one stands in no way')
})

test('no person acts in an unproven workspace, whatever way into it they take', async () => {
  const { userId, email, workspaceId } = await squat()
  await reset(userId)
  const asked = await signIn(email, { workspace_id: workspaceId })
  assert.deepEqual([asked.status, asked.body.code], [403, 'workspace_unproven'])
  const { token, id } = (await signIn(email)).body
  const moved = await ask('POST', '/v1/auth/sessions/current/workspace', {
    token,
    body: { workspace_id: workspaceId },
  })
  assert.deepEqual([moved.status, moved.body.code], [403, 'workspace_unproven'])
  // As a process of an earlier release may have moved it.
  await query('update sessions set acts_in = $1 where id = $2', [workspaceId, id])
  for (const [method, path] of [
    ['GET', '/v1/workspace'],
    ['POST', '/v1/secret_keys'],
    ['GET', '/v1/members'],
  ] as const) {
    const { status, body } = await ask(method, path, { token, ...(method === 'POST' && { body: {} }) })
    assert.deepEqual([status, body.code], [403, 'workspace_unproven'], path)
  }
  const { body: me } = await ask('GET', '/v1/auth/me', { token })
  assert.deepEqual([me.workspace_id, me.workspaces[0].unproven], [null, true])
})

test('a person who keeps the workspace acts in it, and what it had made stays ended', async () => {
  const { userId, email, workspaceId, keys } = await squat()
  await reset(userId)
  const { token } = (await signIn(email)).body
  const kept = await ask('POST', `/v1/auth/workspaces/${workspaceId}/keep`, { token })
  assert.deepEqual([kept.status, kept.body.unproven], [200, false])
  assert.equal((await ask('GET', '/v1/workspace', { token })).body.id, workspaceId)
  for (const key of keys) assert.equal(await works(key), false)
  const made = await ask('POST', '/v1/secret_keys', { token, body: { env: 'live' } })
  assert.equal(made.status, 201)
  await harness.deps.disownings.resume()
  assert.equal(await works(made.body.key), true)
  const again = await ask('POST', `/v1/auth/workspaces/${workspaceId}/keep`, { token })
  assert.equal(again.status, 404, 'it is asked once')
  assert.equal((await ask('GET', '/v1/audit_logs/chain', { token })).body.valid, true)
})

test('a person who gives the workspace up has left it, and no key of the account works', async () => {
  const { userId, email, workspaceId, keys } = await squat()
  await reset(userId)
  const { token } = (await signIn(email)).body
  const { status, body } = await ask('DELETE', `/v1/auth/workspaces/${workspaceId}`, { token })
  assert.deepEqual([status, body.deleted], [200, true])
  assert.deepEqual((await ask('GET', '/v1/auth/me', { token })).body.workspaces, [])
  for (const key of keys) assert.equal(await works(key), false)
})

test('a workspace of others, one without the mark and a missing one answer the same', async () => {
  const { workspaceId: foreign } = await makeVendor(harness)
  const { userId: other, workspaceId: unproven } = await squat()
  await reset(other)
  const own = await makePerson(query)
  const body = { name: 'Own', slug: uniqueSlug() }
  const { id } = (await ask('POST', '/v1/workspaces', { token: own.token, body })).body
  for (const one of [foreign, unproven, id, randomUUID()]) {
    for (const [method, path] of [
      ['POST', `/v1/auth/workspaces/${one}/keep`],
      ['DELETE', `/v1/auth/workspaces/${one}`],
    ] as const) {
      const { status, body } = await ask(method, path, { token: own.token })
      assert.deepEqual([status, body.code], [404, 'not_found'], path)
    }
  }
})

test('the page of a verification link lists what the account made, when and from where', async () => {
  const { userId, email, workspaceId } = await squat()
  await signIn(email, { password: madePassword })
  const { made, disowning_token } = (await verify(userId)).body
  assert.equal(made.workspaces.length, 1)
  assert.deepEqual([made.workspaces[0].id, made.workspaces[0].secret_keys], [workspaceId, 2])
  assert.match(made.workspaces[0].created_at, /^20/)
  assert.equal(made.sign_ins.length, 2)
  assert.ok(made.sign_ins.some(({ ip }: { ip: string }) => ip === '127.0.0.1'))
  assert.ok(disowning_token)
})

test('who says that it was not them ends it all, even if somebody has signed in since', async () => {
  const { userId, email, keys } = await squat()
  const { disowning_token } = (await verify(userId)).body
  assert.equal((await signIn(email, { password: madePassword })).status, 201)
  await makeMailedToken(query, userId, 'password_reset')
  const { status, body } = await consume(disowning_token)
  assert.deepEqual([status, body.made_ended], [200, true])
  for (const key of keys) assert.equal(await works(key), false)
  assert.equal((await signIn(email, { password: madePassword })).status, 401)
  assert.equal((await consume(disowning_token)).body.code, 'invalid_token', 'it works once')
})

test('an invitation that the account accepts from its mailbox proves it', async () => {
  const { userId, email, keys, token } = await squat()
  const vendor = await makeVendor(harness)
  const { id } = await makeInvite(harness, vendor, { email })
  const { token: mailed, digest } = drawMailedToken(vendor.workspaceId, randomBytes)
  await query('update workspace_invites set mailed_digest = $1 where id = $2', [digest, id])
  assert.equal((await ask('POST', '/v1/auth/invites/accept', { token, body: { token: mailed } })).status, 200)
  assert.equal((await reset(userId)).body.made_ended, false)
  assert.equal(await works(keys[0] ?? ''), true)
})

test('an end that a killed process left undone is taken up by another', async () => {
  const { userId, workspaceId, keys } = await squat()
  await query('update users set disowned_count = 1 where id = $1', [userId])
  await query('insert into disownings (user_id, began_at) values ($1, service_now())', [userId])
  await harness.deps.disownings.resume()
  for (const key of keys) assert.equal(await works(key), false)
  const [row] = await query('select reached, done_at from disownings where user_id = $1', [userId])
  assert.equal(row.reached, workspaceId)
  assert.ok(row.done_at)
})
