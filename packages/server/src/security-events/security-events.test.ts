import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, test } from 'node:test'
import pg from 'pg'
import { type Ask, startHarness } from '../../test/harness.ts'
import { addMember, madePassword, makeMailedToken, makePerson, openSession } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { leakOnce, makeVendor, type Vendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneSecurityEvents } from './room.ts'

const harness = await startHarness({ trustProxy: 1 })
const { ask, query, deps, clock } = harness
afterEach(() => harness.setStoreTime(null))

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const from = (ip: string, agent = firefox) => ({ 'x-forwarded-for': ip, 'user-agent': agent })
const signIn = (email: string, ip: string, more: object = {}) =>
  ask('POST', '/v1/auth/sessions', { headers: from(ip), body: { email, password: madePassword, ...more } })

// biome-ignore lint/suspicious/noExplicitAny: rows of the API, held against its schema.
type Event = any
async function listed(path: string, token: string): Promise<Event[]> {
  await deps.securityEvents.flush()
  const { status, body } = await ask('GET', path, { token })
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}
const seenBy = (vendor: Vendor, more = '') => listed(`/v1/security_events?limit=200${more}`, vendor.live)
const ownOf = (token: string) => listed('/v1/auth/security_events?limit=200', token)
const kindsOf = (events: Event[]) => events.map(({ kind }) => kind)

test('a person sees the events of the account with address and program, newest first', async () => {
  const { email, userId, token } = await makePerson(query, { verified: false })
  const wrong = { email, password: 'not the right password' }
  await ask('POST', '/v1/auth/sessions', { headers: from('198.51.100.1', 'guesser/1'), body: wrong })
  const { body: session } = await signIn(email, '198.51.100.2')
  const verification = await makeMailedToken(query, userId, 'verification')
  await ask('POST', '/v1/auth/email_verifications/consume', { body: { token: verification } })
  await ask('POST', '/v1/auth/me/password', {
    token,
    body: { current_password: madePassword, password: 'another long password' },
  })
  await ask('POST', '/v1/auth/password_resets', { body: { email } })
  const reset = await makeMailedToken(query, userId, 'password_reset')
  await ask('POST', '/v1/auth/password_resets/consume', {
    body: { token: reset, password: 'yet another password' },
  })
  const { token: own, sessionId } = await openSession(query, userId)
  const other = await openSession(query, userId)
  await ask('DELETE', `/v1/auth/sessions/${other.sessionId}`, { token: own, headers: from('198.51.100.3') })

  const events = await ownOf(own)
  assert.deepEqual(kindsOf(events).toSorted(), [
    'address_verified',
    'new_device',
    'password_changed',
    'password_reset',
    'reset_requested',
    'session_ended',
    'sign_in',
    'sign_in_failed',
  ])
  const byKind = new Map(events.map(event => [event.kind, event]))
  const eventOf = (kind: string) => {
    const { user_id, workspace_id, ip, user_agent, count, details } = byKind.get(kind)
    assert.deepEqual([user_id, workspace_id, count], [userId, null, 1], kind)
    return [ip, user_agent, details]
  }
  assert.deepEqual(eventOf('sign_in_failed'), ['198.51.100.1', 'guesser/1', {}])
  assert.equal(byKind.get('sign_in_failed').actor_id, null)
  assert.deepEqual(eventOf('sign_in'), ['198.51.100.2', firefox, { session_id: session.id }])
  assert.deepEqual(eventOf('new_device'), ['198.51.100.2', firefox, { session_id: session.id }])
  assert.deepEqual(eventOf('session_ended'), ['198.51.100.3', firefox, { session_id: other.sessionId }])
  assert.ok(sessionId)
  const ids = events.map(({ id }) => id)
  assert.deepEqual(ids, ids.toSorted().toReversed())
  const stranger = await makePerson(query)
  assert.deepEqual(await ownOf(stranger.token), [])
})

test('an owner sees a member’s events in the workspace, without the member’s addresses', async () => {
  const [mine, elsewhere] = [await makeVendor(harness), await makeVendor(harness)]
  const { email, userId } = await makePerson(query)
  const fail = () =>
    ask('POST', '/v1/auth/sessions', { headers: from('203.0.113.9'), body: { email, password: 'wrong one' } })
  await fail()
  await deps.securityEvents.flush()
  clock.advance(60_000)
  await query("update security_events set created_at = created_at - interval '1 day'")
  for (const { workspaceId } of [mine, elsewhere]) await addMember(query, workspaceId, userId, 'admin')
  clock.advance(60_000)
  await fail()
  const there = await signIn(email, '203.0.113.10', { workspace_id: elsewhere.workspaceId })
  const nowhere = await signIn(email, '203.0.113.11')
  const here = await signIn(email, '203.0.113.12', { workspace_id: mine.workspaceId })
  await ask('POST', '/v1/auth/sessions/current/workspace', {
    token: there.body.token,
    headers: from('203.0.113.13'),
    body: { workspace_id: mine.workspaceId },
  })
  assert.equal(nowhere.status, 201)

  const seen = (await seenBy(mine)).map(({ kind, user_id, ip, workspace_id }) => [
    kind,
    user_id,
    ip,
    workspace_id,
  ])
  assert.deepEqual(
    seen.toSorted(),
    [
      ['sign_in', userId, '203.0.113.12', mine.workspaceId],
      // About the whole account: an attack on it, but nothing from before the person joined.
      ['sign_in_failed', userId, null, null],
      ['workspace_entered', userId, '203.0.113.13', mine.workspaceId],
    ].toSorted(),
  )
  assert.ok(here.body.id)
  assert.deepEqual(kindsOf(await seenBy(mine, `&user_id=${userId.toUpperCase()}&kind=sign_in`)), ['sign_in'])
  // The person sees all of it, with every address.
  const own = await ownOf(here.body.token)
  assert.deepEqual(
    own.filter(({ kind }) => kind === 'sign_in').map(({ ip }) => ip),
    ['203.0.113.12', '203.0.113.11', '203.0.113.10'],
  )

  await ask('DELETE', `/v1/members/${userId}`, { token: mine.live })
  assert.deepEqual(kindsOf(await seenBy(mine)).toSorted(), ['sign_in', 'workspace_entered'])
})

test('refusals of a valid credential are recorded once a minute, with a count', async () => {
  const vendor = await makeVendor(harness)
  const { token, userId } = await makePerson(query, { workspaceId: vendor.workspaceId })
  const refuse = (more: Ask = {}) =>
    ask('POST', '/v1/projects', { token, headers: from('192.0.2.1'), body: {}, ...more })
  for (let i = 0; i < 20; i++) assert.equal((await refuse()).status, 403)
  const [first, ...more] = await seenBy(vendor)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [first.kind, first.user_id, first.actor_type, first.actor_id, first.ip, first.count, first.details],
    [
      'permission_refused',
      userId,
      'user',
      userId,
      '192.0.2.1',
      20,
      { route: 'POST /v1/projects', code: 'forbidden' },
    ],
  )
  // Already written, so the same row counts on; another address is another row, another program is not.
  await refuse({ headers: from('192.0.2.1', 'other/2') })
  await refuse({ headers: from('192.0.2.2') })
  assert.deepEqual((await seenBy(vendor)).map(({ count }) => count).toSorted(), [1, 21])
  clock.advance(60_000)
  await refuse()
  assert.deepEqual((await seenBy(vendor)).map(({ count }) => count).toSorted(), [1, 1, 21])
})

test('a flood fills a limited number of rows of one workspace and is still counted', async () => {
  const [flooded, calm] = [await makeVendor(harness), await makeVendor(harness)]
  const refuse = (vendor: Vendor, ip: string) =>
    ask('DELETE', `/v1/members/${vendor.workspaceId}`, { token: vendor.test, headers: from(ip) })
  for (let i = 0; i < 90; i++) await refuse(flooded, `192.0.2.${i}`)
  await refuse(calm, '192.0.2.1')
  const rows = await seenBy(flooded)
  assert.equal(rows.length, 61)
  assert.equal(
    rows.reduce((sum, { count }) => sum + count, 0),
    90,
  )
  const [rest] = rows.filter(({ count }) => count > 1)
  assert.deepEqual([rest.ip, rest.actor_id, rest.details], [null, null, { more: true }])
  assert.deepEqual(
    (await seenBy(calm)).map(({ ip }) => ip),
    ['192.0.2.1'],
  )
})

test('a disallowed address, a leak and a throttled request are recorded', async () => {
  const vendor = await makeVendor(harness)
  const { body: bound } = await ask('POST', '/v1/secret_keys', {
    token: vendor.live,
    body: { env: 'live', allowed_cidrs: ['192.0.2.0/24'] },
  })
  assert.equal(
    (await ask('GET', '/v1/keys', { token: bound.key, headers: from('198.51.100.1') })).status,
    403,
  )
  await leakOnce(harness, vendor)
  const events = (await seenBy(vendor)).filter(({ kind }) => kind !== 'owner_key_created')
  assert.deepEqual(
    events.map(({ kind, actor_type, actor_id, ip }) => [kind, actor_type, actor_id, ip]).toSorted(),
    [
      ['address_refused', 'secret_key', bound.id, '198.51.100.1'],
      ['credential_leaked', 'codehost', null, null],
    ],
  )
})

const timeOutWaiting =
  'select pg_cancel_backend(pid) from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))'

test('a database that rejects events delays no request; they are written later', async () => {
  const vendor = await makeVendor(harness)
  const blocker = new pg.Client(harness.connection)
  await blocker.connect()
  await blocker.query('begin; lock table security_events in access exclusive mode')
  const refused = await ask('GET', '/v1/security_events', { token: vendor.test })
  assert.deepEqual([refused.status, refused.body.code], [403, 'live_credential_required'])
  assert.equal((await signIn('nobody@example.com', '192.0.2.77')).status, 401)
  let flushed = false
  void deps.securityEvents.flush().then(() => (flushed = true))
  await until(async () => (await blocker.query(timeOutWaiting)) && flushed)
  assert.equal(deps.securityEvents.depth(), 2)
  await blocker.query('rollback')
  await blocker.end()
  assert.deepEqual(kindsOf(await seenBy(vendor)), ['permission_refused'])
  assert.equal(deps.securityEvents.depth(), 0)
  // For an address without an account the event has no user, so only the operator sees it.
  const [row] = await query(`select user_id, kind from security_events where ip = '192.0.2.77'`)
  assert.deepEqual(row, { user_id: null, kind: 'sign_in_failed' })
})

test('a refusal is recorded even if the client disconnects before it', async () => {
  const own = await startHarness()
  const asked = Promise.withResolvers<void>()
  const hungUp = Promise.withResolvers<void>()
  own.app.addHook('onRequest', async (request, reply) => {
    if (request.headers['user-agent'] !== 'gone/1') return
    reply.raw.once('close', hungUp.resolve)
    asked.resolve()
    await hungUp.promise
  })
  const vendor = await makeVendor(own)
  await own.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = own.app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `GET /v1/security_events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${vendor.test}\r\nuser-agent: gone/1\r\n\r\n`,
  )
  await asked.promise
  socket.destroy()
  await until(() => own.deps.securityEvents.depth() > 0, 'the refusal is noted')
  await own.deps.securityEvents.flush()
  const rows = await own.query('select kind, ip, user_agent from security_events')
  assert.deepEqual(rows, [{ kind: 'permission_refused', ip: '127.0.0.1', user_agent: 'gone/1' }])
})

test('a buffered event of an erased person or a deleted workspace is not written', async () => {
  const { userId } = await makePerson(query)
  const client = { ip: '192.0.2.5', userAgent: null }
  const note = { kind: 'sign_in_failed', workspaceId: null, userId, actor: null, client } as const
  deps.securityEvents.note(note)
  deps.securityEvents.note({ ...note, userId: null, workspaceId: userId })
  for (const table of ['sessions', 'user_passwords'])
    await query(`delete from ${table} where user_id = $1`, [userId])
  await query('delete from users where id = $1', [userId])
  await deps.securityEvents.flush()
  assert.equal(deps.securityEvents.depth(), 0)
  assert.deepEqual(
    await query('select id from security_events where user_id = $1 or workspace_id = $1', [userId]),
    [],
  )
})

test('events are deleted after 90 days', async () => {
  const vendor = await makeVendor(harness)
  await ask('GET', '/v1/security_events', { token: vendor.test })
  assert.equal((await seenBy(vendor)).length, 1)
  const day = 24 * 3_600_000
  const prune = async (days: number) => {
    await harness.setStoreTime(new Date(clock.now() + days * day))
    await doChores(harness.connection, [pruneSecurityEvents], deps.log)
    await harness.setStoreTime(null)
  }
  await prune(89.9)
  assert.equal((await seenBy(vendor)).length, 1)
  await prune(90.1)
  assert.equal((await seenBy(vendor)).length, 0)
})

test('events are listed in pages, and a cursor belongs to one list', async () => {
  const vendor = await makeVendor(harness)
  const { token, email } = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  for (let i = 0; i < 5; i++) await signIn(email, `192.0.${i}.1`)
  const all = await seenBy(vendor)
  const walked: Event[] = []
  let cursor = ''
  do {
    const { body } = await ask('GET', `/v1/security_events?limit=2${cursor}`, { token })
    walked.push(...body.data)
    cursor = body.has_more ? `&cursor=${body.next_cursor}` : ''
    const elsewhere = `/v1/auth/security_events?cursor=${body.next_cursor}`
    if (body.has_more) assert.equal((await ask('GET', elsewhere, { token })).status, 400)
  } while (cursor !== '')
  assert.deepEqual(walked, all)
  assert.ok(all.length >= 9)
})
