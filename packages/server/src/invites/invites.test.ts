import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { dump } from '../../test/dump.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { makeVendor, uniqueSlug } from '../../test/vendor.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings, publicUrl: 'https://keys.example.com' })
const { ask, query, setStoreTime } = harness
harness.deps.mail.start()
afterEach(() => setStoreTime(null))

const vendor = await makeVendor(harness)
const uniqueEmail = () => `${uniqueSlug('bob')}@example.com`
const invite = (email: string, role = 'member', { live } = vendor) =>
  ask('POST', '/v1/invites', { token: live, body: { email, role } })
const accept = (token: string, invitation: unknown) =>
  ask('POST', '/v1/auth/invites/accept', { token, body: { token: invitation } })
const identify = (invitation: unknown) =>
  ask('POST', '/v1/auth/invites/identify', { body: { token: invitation } })
const membersOf = async ({ workspaceId } = vendor) =>
  query('select user_id, role from workspace_members where workspace_id = $1 and removed_at is null', [
    workspaceId,
  ])

/** Neither accepting nor reading says more than that the token does not work. */
async function assertDead(session: string, invitation: unknown): Promise<void> {
  const told = ({ status, body }: Awaited<ReturnType<typeof ask>>) => ({ status, ...body, request_id: '' })
  const answers = [await accept(session, invitation), await identify(invitation)].map(told)
  assert.deepEqual([answers[0]?.status, answers[0]?.code], [400, 'invalid_token'])
  assert.deepEqual(answers[1], answers[0])
}

/** Waits until the mail job has generated and stored its token. */
async function untilSent(): Promise<void> {
  const isEmpty = async () => (await query('select from graphile_worker.jobs')).length === 0
  await until(isEmpty, 'the mail queue is empty')
}

test('the owner’s copy and the mailed link are different tokens, and both are accepted', async () => {
  for (const which of ['copy', 'mailed'] as const) {
    const email = uniqueEmail()
    const { status, body } = await invite(email, 'admin')
    assert.equal(status, 201)
    assert.equal(body.token.split('.')[0], vendor.workspaceId)
    const mail = await mailbox.take(email)
    assert.equal(mail.page, 'https://keys.example.com/accept-invite')
    assert.match(mail.subject, /^Join Acme on Keyrail$/)
    assert.notEqual(mail.token, body.token)
    assert.ok(!mail.text.includes(body.token))

    const person = await makePerson(query)
    const joined = await accept(person.token, which === 'copy' ? body.token : mail.token)
    assert.deepEqual(
      [joined.status, joined.body.user_id, joined.body.role, joined.body.workspace.id],
      [200, person.userId, 'admin', vendor.workspaceId],
    )
    // A session without a workspace moves into the one that it has joined.
    assert.equal((await ask('GET', '/v1/workspace', { token: person.token })).status, 200)
    const other = await makePerson(query)
    for (const dead of [body.token, mail.token]) await assertDead(other.token, dead)
    const { body: list } = await ask('GET', '/v1/invites?limit=1', { token: vendor.live })
    assert.deepEqual([list.data[0].id, list.data[0].status], [body.id, 'accepted'])
  }
})

test('the holder of either token reads what the letter says, and uses nothing up', async () => {
  const ada = await makePerson(query, {
    workspaceId: vendor.workspaceId,
    role: 'owner',
    name: 'Ada Lovelace',
  })
  const email = uniqueEmail()
  const { body } = await ask('POST', '/v1/invites', { token: ada.token, body: { email, role: 'admin' } })
  const mail = await mailbox.take(email)
  const said = `Ada Lovelace (${ada.email}) invited you to the workspace “Acme” on Keyrail, as an admin.`
  assert.ok(mail.text.replaceAll(/\s+/g, ' ').includes(said), mail.text)
  await untilSent()
  const before = await dump(query)
  for (const token of [body.token, mail.token, mail.token]) {
    assert.deepEqual((await identify(token)).body, {
      email,
      role: 'admin',
      workspace_name: 'Acme',
      invited_by: { email: ada.email, name: 'Ada Lovelace' },
      expires_at: body.expires_at,
    })
  }
  assert.deepEqual(await dump(query), before)
  assert.equal((await accept((await makePerson(query)).token, mail.token)).status, 200)
})

test('a name that the letter leaves out is not read either, and a key has no name', async () => {
  const owned = await makeVendor(harness)
  await query('update workspaces set name = $2 where id = $1', [owned.workspaceId, 'Prizes at evil.example'])
  const { body } = await invite(uniqueEmail(), 'member', owned)
  const byKey = await identify(body.token)
  assert.deepEqual([byKey.body.workspace_name, byKey.body.invited_by], [null, null])
  const eve = await makePerson(query, { workspaceId: owned.workspaceId, role: 'owner' })
  await query('update users set name = $2 where id = $1', [eve.userId, 'www.evil.example'])
  const email = uniqueEmail()
  const made = await ask('POST', '/v1/invites', { token: eve.token, body: { email, role: 'member' } })
  assert.deepEqual((await identify(made.body.token)).body.invited_by, { email: eve.email, name: null })
  const { text } = await mailbox.take(email)
  assert.doesNotMatch(text, /evil\.example/)
})

test('a session that acts in another workspace stays there', async () => {
  const elsewhere = await makeVendor(harness)
  const person = await makePerson(query, { workspaceId: elsewhere.workspaceId, role: 'owner' })
  const { body } = await invite(person.email)
  assert.equal((await accept(person.token, body.token)).status, 200)
  assert.equal((await ask('GET', '/v1/workspace', { token: person.token })).body.id, elsewhere.workspaceId)
})

test('an unverified account joins only by a token mailed to its address, which verifies it', async () => {
  const email = uniqueEmail()
  const unverified = await makePerson(query, { email: email.toUpperCase(), verified: false })
  const stranger = await makePerson(query, { verified: false })
  const { body } = await invite(email)
  const mail = await mailbox.take(email)
  assert.equal((await accept(unverified.token, body.token)).body.code, 'email_not_verified')
  assert.equal((await accept(stranger.token, mail.token)).body.code, 'email_not_verified')
  assert.equal((await accept(stranger.token, body.token)).body.code, 'email_not_verified')
  assert.equal((await accept(unverified.token, mail.token)).status, 200)
  assert.equal((await ask('GET', '/v1/auth/me', { token: unverified.token })).body.email_verified, true)
  const events = await ask('GET', '/v1/auth/security_events?kind=address_verified', {
    token: unverified.token,
  })
  assert.equal(events.body.data.length, 1)
})

test('when two people accept at once, one joins', async () => {
  for (let round = 0; round < 5; round++) {
    const { body } = await invite(uniqueEmail())
    const people = [await makePerson(query), await makePerson(query), await makePerson(query)]
    const answers = await Promise.all(people.map(({ token }) => accept(token, body.token)))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 400, 400])
  }
})

test('a token with a forged workspace half writes and reveals nothing', async () => {
  const other = await makeVendor(harness)
  const { body } = await invite(uniqueEmail())
  const person = await makePerson(query)
  const [scope = '', secret = ''] = String(body.token).split('.')
  await untilSent()
  const before = await dump(query)
  const answers = []
  for (const forged of [
    `${other.workspaceId}.${secret}`,
    `01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11.${secret}`,
    `${scope}.${secret.slice(0, -1)}`,
    `${scope}.`,
    `${scope}`,
    `not-a-workspace.${secret}`,
    `${scope}.${secret}x`,
    `${scope} .${secret}`,
    `' or true --.${secret}`,
  ]) {
    for (const { status, body: problem } of [await accept(person.token, forged), await identify(forged)])
      answers.push({ status, ...problem, request_id: '' })
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.deepEqual([answers[0]?.status, answers[0]?.code], [400, 'invalid_token'])
  assert.deepEqual(await dump(query), before)
  assert.equal((await accept(person.token, body.token)).status, 200)
})

test('a revocation ends both tokens, and repeating it changes nothing', async () => {
  const email = uniqueEmail()
  const { body } = await invite(email)
  const mail = await mailbox.take(email)
  const revoke = () => ask('POST', `/v1/invites/${body.id}/revoke`, { token: vendor.live })
  assert.deepEqual([(await revoke()).body.status], ['revoked'])
  await untilSent()
  const before = await dump(query)
  assert.deepEqual([(await revoke()).body.status], ['revoked'])
  assert.deepEqual(await dump(query), before)
  const { token } = await makePerson(query, { email })
  for (const dead of [body.token, mail.token]) await assertDead(token, dead)
})

test('an invitation expires after exactly seven days', async () => {
  const { body } = await invite(uniqueEmail())
  const { token } = await makePerson(query)
  assert.equal(Date.parse(body.expires_at) - Date.parse(body.created_at), 7 * 86_400_000)
  await setStoreTime(new Date(Date.parse(body.expires_at)))
  // The session is as old as the invitation, so renew it.
  await query(
    "update sessions set last_seen_at = service_now(), expires_at = service_now() + interval '1 day'",
  )
  await assertDead(token, body.token)
  const { body: list } = await ask('GET', '/v1/invites', { token: vendor.live })
  assert.equal(list.data.find(({ id }: { id: string }) => id === body.id).status, 'expired')
  await setStoreTime(new Date(Date.parse(body.expires_at) - 1))
  assert.equal((await accept(token, body.token)).status, 200)
})

test('a new invitation retires the pending one for the address, also when concurrent', async () => {
  const email = uniqueEmail()
  const first = await invite(email)
  const both = await Promise.all([invite(email.toUpperCase(), 'admin'), invite(email, 'owner')])
  assert.deepEqual(
    both.map(({ status }) => status),
    [201, 201],
  )
  const rows = await query(
    `select id from workspace_invites where address_key = $1 and revoked_at is null and workspace_id = $2`,
    [email, vendor.workspaceId],
  )
  assert.equal(rows.length, 1)
  const { token } = await makePerson(query)
  await assertDead(token, first.body.token)
  const { body: log } = await ask('GET', '/v1/audit_logs?limit=200', { token: vendor.live })
  const superseded = log.data.filter(
    // biome-ignore lint/suspicious/noExplicitAny: rows of the API, held against its schema.
    ({ action, payload }: any) => action === 'workspace_invite.revoked' && payload.reason === 'superseded',
  )
  assert.equal(superseded.length, 2)
})

test('inviting or accepting as a member is refused, and possible again after leaving', async () => {
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin' })
  assert.equal((await invite(person.email.toUpperCase())).body.code, 'already_member')
  const { body } = await invite(uniqueEmail(), 'owner')
  assert.equal((await accept(person.token, body.token)).body.code, 'already_member')
  assert.ok((await membersOf()).some(({ user_id, role }) => user_id === person.userId && role === 'admin'))
  await ask('DELETE', `/v1/members/${person.userId}`, { token: vendor.live })
  assert.equal((await invite(person.email)).status, 201)
  assert.equal((await accept(person.token, body.token)).status, 200)
  assert.ok((await membersOf()).some(({ user_id, role }) => user_id === person.userId && role === 'owner'))
})

test('a workspace can invite two hundred times an hour, then gets Retry-After', async () => {
  const owned = await makeVendor(harness)
  await query(
    `insert into workspace_invites (workspace_id, id, email, address_key, role, digest, created_at, expires_at)
     select $1, gen_random_uuid(), 'x@example.com', 'x@example.com', 'member', sha256('x'), service_now(), service_now()
     from generate_series(1, 199)`,
    [owned.workspaceId],
  )
  assert.equal((await invite(uniqueEmail(), 'member', owned)).status, 201)
  const refused = await invite(uniqueEmail(), 'member', owned)
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '3600'])
  await query(
    `update workspace_invites set created_at = created_at - interval '1 hour' where workspace_id = $1`,
    [owned.workspaceId],
  )
  assert.equal((await invite(uniqueEmail(), 'member', owned)).status, 201)
})

test('a repeat under its Idempotency-Key has no token and sends no second mail', async () => {
  const email = uniqueEmail()
  const send = () =>
    ask('POST', '/v1/invites', {
      token: vendor.live,
      headers: { 'idempotency-key': email },
      body: { email, role: 'member' },
    })
  const [first, again] = [await send(), await send()]
  assert.equal(again.body.id, first.body.id)
  assert.equal(again.body.token, undefined)
  const [{ sent }] = await query(
    `select sum(cardinality(queued_at))::int as sent from mail_throttles
     where kind = 'invitation' and address_hash = sha256(convert_to($1 || ' ' || $2, 'UTF8'))`,
    [vendor.workspaceId, email],
  )
  assert.equal(sent, 1)
})

test('the audit log has the invited address, also when the invitation is accepted', async () => {
  const owned = await makeVendor(harness)
  const email = uniqueEmail()
  const { body } = await invite(email, 'member', owned)
  const person = await makePerson(query, { name: 'Joy' })
  await accept(person.token, body.token)
  const { body: log } = await ask('GET', '/v1/audit_logs', { token: owned.live })
  const [created, joined] = log.data.slice(-2)
  assert.deepEqual(
    [created.action, created.target_id, created.payload.email, created.payload.role],
    ['workspace_invite.created', body.id, email, 'member'],
  )
  assert.equal(created.payload.token, undefined)
  assert.deepEqual(
    [joined.action, joined.actor_type, joined.actor_id, joined.payload.email, joined.payload.invited_email],
    ['workspace_member.joined', 'user', person.userId, person.email, email],
  )
  assert.deepEqual(joined.actor, { email: person.email, name: 'Joy' })
  assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: owned.live })).body.valid, true)
})
