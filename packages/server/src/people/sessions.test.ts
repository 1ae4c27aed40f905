import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { addMember, madePassword, makePerson, openSession } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query, setStoreTime } = harness
afterEach(() => setStoreTime(null))

const me = (token: string) => ask('GET', '/v1/auth/me', { token })
const signIn = (email: string, more: object = {}) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password: madePassword, ...more } })

test('a sign-in acts in the person’s only workspace, in the named one, or in none', async () => {
  const { email, userId } = await makePerson(query)
  const [first, second] = [await makeVendor(harness), await makeVendor(harness)]
  assert.equal((await signIn(email)).body.workspace_id, null)
  await addMember(query, first.workspaceId, userId, 'admin')
  const only = await signIn(email)
  assert.equal(only.body.workspace_id, first.workspaceId)
  assert.deepEqual(
    only.body.workspaces.map(({ id, role }: { id: string; role: string }) => [id, role]),
    [[first.workspaceId, 'admin']],
  )
  await addMember(query, second.workspaceId, userId, 'member')
  assert.equal((await signIn(email)).body.workspace_id, null)
  const named = await signIn(email, { workspace_id: second.workspaceId.toUpperCase() })
  assert.equal(named.body.workspace_id, second.workspaceId)
  assert.equal((await ask('GET', '/v1/workspace', { token: named.body.token })).body.id, second.workspaceId)
})

test('a switch moves the session to another workspace of the person, with the same token', async () => {
  const [mine, other, foreign] = [
    await makeVendor(harness),
    await makeVendor(harness),
    await makeVendor(harness),
  ]
  const { token, userId } = await makePerson(query, { workspaceId: mine.workspaceId, role: 'owner' })
  await addMember(query, other.workspaceId, userId, 'member')
  const move = (workspace_id: string) =>
    ask('POST', '/v1/auth/sessions/current/workspace', { token, body: { workspace_id } })

  const moved = await move(other.workspaceId)
  assert.deepEqual(
    [moved.status, moved.body.workspace_id, moved.body.current],
    [200, other.workspaceId, true],
  )
  assert.equal((await ask('GET', '/v1/workspace', { token })).body.id, other.workspaceId)
  assert.deepEqual([(await me(token)).body.role, (await me(token)).body.workspaces.length], ['member', 2])
  assert.equal((await move(foreign.workspaceId)).body.code, 'forbidden')
  assert.equal((await ask('GET', '/v1/workspace', { token })).body.id, other.workspaceId)
})

test('the list has the person’s active sessions only, newest first, in pages', async () => {
  const { token, userId, sessionId } = await makePerson(query)
  await makePerson(query)
  const others = [
    await openSession(query, userId),
    await openSession(query, userId),
    await openSession(query, userId),
  ]
  const [gone, expired] = others
  await query('update sessions set ended_at = service_now() where id = $1', [gone?.sessionId])
  await query('update sessions set expires_at = service_now() where id = $1', [expired?.sessionId])
  const { body } = await ask('GET', '/v1/auth/sessions', { token })
  const ids = body.data.map(({ id }: { id: string }) => id)
  assert.deepEqual(ids.toSorted(), [sessionId, others[2]?.sessionId].toSorted())
  assert.deepEqual(ids, ids.toSorted().toReversed())
  assert.deepEqual(
    body.data.filter(({ current }: { current: boolean }) => current).map(({ id }: { id: string }) => id),
    [sessionId],
  )
  const { body: page } = await ask('GET', '/v1/auth/sessions?limit=1', { token })
  const { body: rest } = await ask('GET', `/v1/auth/sessions?limit=1&cursor=${page.next_cursor}`, { token })
  assert.deepEqual(
    [...page.data, ...rest.data].map(({ id }) => id),
    ids,
  )
  assert.equal(rest.has_more, false)
  const stranger = await makePerson(query)
  const stolen = await ask('GET', `/v1/auth/sessions?cursor=${page.next_cursor}`, { token: stranger.token })
  assert.equal(stolen.status, 400)
})

test('the session of a removed person shows no workspace', async () => {
  const { workspaceId } = await makeVendor(harness)
  const { token, userId } = await makePerson(query, { workspaceId })
  const actsIn = async () => (await ask('GET', '/v1/auth/sessions', { token })).body.data[0].workspace_id
  assert.equal(await actsIn(), workspaceId)
  await query('update workspace_members set removed_at = service_now() where user_id = $1', [userId])
  assert.equal(await actsIn(), null)
})

test('a session shows its address and user agent, cut to the stored length', async () => {
  const { email } = await makePerson(query)
  const { body } = await ask('POST', '/v1/auth/sessions', {
    body: { email, password: madePassword },
    headers: { 'user-agent': `agent ${'x '.repeat(2_000)}` },
  })
  assert.equal(body.user_agent.length, 200)
  assert.equal(body.ip, '127.0.0.1')
})

test('an ended session is refused on the next request, whichever session ended it', async () => {
  const { token, userId } = await makePerson(query)
  const other = await openSession(query, userId)
  const ended = await ask('DELETE', `/v1/auth/sessions/${other.sessionId}`, { token })
  assert.deepEqual(ended.body, { object: 'session', id: other.sessionId, deleted: true })
  assert.equal((await me(other.token)).status, 401)
  assert.equal((await ask('DELETE', `/v1/auth/sessions/${other.sessionId}`, { token })).status, 404)
  assert.equal((await ask('DELETE', '/v1/auth/sessions/current', { token })).status, 200)
  assert.equal((await me(token)).status, 401)
})

test('the end of all other sessions ends each of them and keeps the one that asks', async () => {
  const { token, userId } = await makePerson(query)
  const others = [await openSession(query, userId), await openSession(query, userId)]
  const stranger = await makePerson(query)
  const end = () => ask('DELETE', '/v1/auth/sessions/others', { token })
  assert.deepEqual((await end()).body, { status: 'other_sessions_ended', ended: 2 })
  for (const other of others) assert.equal((await me(other.token)).status, 401)
  assert.equal((await me(stranger.token)).status, 200)
  assert.deepEqual((await end()).body, { status: 'other_sessions_ended', ended: 0 })
  const { body } = await ask('GET', '/v1/auth/security_events', { token })
  assert.deepEqual(
    body.data.map(({ kind, details }: { kind: string; details: { ended: number } }) => [kind, details.ended]),
    [['session_ended', 2]],
  )
})

test('a session ends seven days after sign-in, even if it is used', async () => {
  const { email } = await makePerson(query)
  const { body } = await signIn(email)
  const ends = Date.parse(body.expires_at)
  assert.equal(ends - Date.parse(body.created_at), 7 * 86_400_000)
  for (let at = Date.parse(body.created_at); at < ends - 1; at += 12 * 3_600_000) {
    await setStoreTime(new Date(at))
    await usedNow(body.token)
  }
  await setStoreTime(new Date(ends - 1))
  assert.equal((await me(body.token)).status, 200)
  await setStoreTime(new Date(ends))
  assert.equal((await me(body.token)).status, 401)
})

test('a session ends one day after its last request, and not earlier', async () => {
  const day = 86_400_000
  const { email } = await makePerson(query)
  const { body } = await signIn(email)
  const began = Date.parse(body.created_at)
  await setStoreTime(new Date(began + day - 1))
  await usedNow(body.token)
  await setStoreTime(new Date(began + day + 1))
  assert.equal((await me(body.token)).status, 200)
  await usedNow(body.token)
  await setStoreTime(new Date(began + day + 1 + day))
  assert.equal((await me(body.token)).status, 401)
})

/** Sends a request and waits until its use of the session is stored, which happens after the response. */
async function usedNow(token: string) {
  assert.equal((await me(token)).status, 200)
  const isNoted = async () => {
    const [row] = await query(
      `select max(last_seen_at) >= service_now() - interval '1 minute' as noted from sessions
       where user_id = (select user_id from sessions where id = $1)`,
      [(await ask('GET', '/v1/auth/sessions', { token })).body.data[0].id],
    )
    return row.noted
  }
  await until(isNoted, 'the use of the session is stored')
}

test('a sign-in whose password is replaced during it opens no session', async () => {
  const { email, userId } = await makePerson(query)
  const { deps } = harness
  const { passwords } = deps
  // Another client resets the password between the hash check and the insert of the session.
  const verify = passwords.verify.bind(passwords)
  Object.assign(passwords, {
    verify: async (...asked: Parameters<typeof verify>) => {
      const isRight = await verify(...asked)
      await query(`update user_passwords set hash = $2 where user_id = $1`, [
        userId,
        await passwords.hash('another', { ip: '192.0.2.1', standing: 'known' }),
      ])
      return isRight
    },
  })
  try {
    assert.equal((await signIn(email)).status, 401)
    assert.deepEqual(
      await query('select from sessions where user_id = $1 and user_agent is not null', [userId]),
      [],
    )
  } finally {
    Object.assign(passwords, { verify })
  }
})

test('repeated workspace switches of a member write one security event a minute', async () => {
  const { workspaceId } = await makeVendor(harness)
  const { token, userId } = await makePerson(query, { workspaceId, role: 'member' })
  for (let i = 0; i < 20; i++) {
    const body = { workspace_id: workspaceId }
    assert.equal((await ask('POST', '/v1/auth/sessions/current/workspace', { token, body })).status, 200)
  }
  await harness.deps.securityEvents.flush()
  assert.deepEqual(
    await query('select kind, user_id, count from security_events where workspace_id = $1', [workspaceId]),
    [{ kind: 'workspace_entered', user_id: userId, count: 20 }],
  )
})
