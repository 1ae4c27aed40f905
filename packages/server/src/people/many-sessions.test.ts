import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../test/harness.ts'
import { madePassword, makeMailedToken, makePerson } from '../../test/people.ts'
import { erasePerson } from './removal.ts'

const harness = await startHarness()
const { ask, query } = harness

/** One lock for each of them would be more than the lock table of the tests' Postgres holds. */
const beyondLocks = 60_000

const openMany = (userId: string, count: number) =>
  query(
    `insert into sessions (id, user_id, created_at, last_seen_at, expires_at)
     select gen_random_uuid(), $1, service_now() - make_interval(secs => n), service_now(), service_now() + interval '7 days'
     from generate_series(1, $2) n`,
    [userId, count],
  )
const liveOf = async (userId: string): Promise<string[]> => {
  const rows = await query(
    'select id from sessions where user_id = $1 and ended_at is null order by created_at desc, id desc',
    [userId],
  )
  return rows.map(({ id }) => id)
}

test('a change of the password ends any number of sessions but its own', async () => {
  const { token, userId, sessionId } = await makePerson(query)
  await openMany(userId, beyondLocks)
  const body = { current_password: madePassword, password: 'a longer and newer secret' }
  assert.equal((await ask('POST', '/v1/auth/me/password', { token, body })).status, 200)
  assert.deepEqual(await liveOf(userId), [sessionId])
})

test('a reset of the password ends any number of sessions', async () => {
  const { userId, token: session } = await makePerson(query)
  await openMany(userId, beyondLocks)
  const token = await makeMailedToken(query, userId, 'password_reset')
  const body = { token, password: 'a longer and newer secret' }
  assert.equal((await ask('POST', '/v1/auth/password_resets/consume', { body })).status, 200)
  assert.deepEqual(await liveOf(userId), [])
  assert.equal((await ask('GET', '/v1/auth/me', { token: session })).status, 401)
})

test('a person with any number of sessions can be erased', async t => {
  const { email, userId } = await makePerson(query)
  await openMany(userId, beyondLocks)
  const client = new pg.Client(harness.connection)
  await client.connect()
  t.after(() => client.end())
  assert.equal((await erasePerson(client, email)).sessions, beyondLocks + 1)
})

test('the sign-in after a hundred live sessions ends the oldest', async () => {
  const { email, userId, token: first } = await makePerson(query)
  await openMany(userId, 98)
  const signIn = () => ask('POST', '/v1/auth/sessions', { body: { email, password: madePassword } })
  const hundredth = await signIn()
  const before = await liveOf(userId)
  assert.equal(before.length, 100)
  const { status, body } = await signIn()
  assert.equal(status, 201)
  assert.deepEqual(await liveOf(userId), [body.id, ...before.slice(0, -1)])
  for (const token of [first, hundredth.body.token, body.token])
    assert.equal((await ask('GET', '/v1/auth/me', { token })).status, 200)
})
