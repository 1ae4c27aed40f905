import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { makePerson } from '../../test/people.ts'
import { makeSecretKey, makeVendor, uniqueSlug } from '../../test/vendor.ts'
import { lettersOfNetworkMax, lettersOfPersonMax } from '../platform/mail/charge.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings, trustProxy: 1 })
const { ask, query, setStoreTime } = harness
harness.deps.mail.start()
afterEach(() => setStoreTime(null))

const uniqueEmail = () => `${uniqueSlug('bob')}@example.com`
const invite = (token: string, ip = '192.0.2.1') =>
  ask('POST', '/v1/invites', {
    token,
    body: { email: uniqueEmail(), role: 'member' },
    headers: { 'x-forwarded-for': ip },
  })
const makeWorkspace = async (token: string, more: Record<string, unknown> = {}) =>
  ask('POST', '/v1/workspaces', { token, body: { name: 'Acme', slug: uniqueSlug(), ...more } })
const verify = (userId: string) =>
  query('update users set email_verified_at = service_now() where id = $1', [userId])
/** Letters counted as sent at this moment, as if so many had been. */
const countAsSent = (sender: string, letters: number) =>
  query(
    `insert into letter_counts (sender_hash, sent_at, expires_at)
     values (sha256(convert_to($1, 'UTF8')), array_fill(service_now(), array[$2::int]), service_now() + interval '1 day')
     on conflict (sender_hash) do update set sent_at = excluded.sent_at`,
    [sender, letters],
  )

test('an unverified person neither invites nor names a billing address, by key either', async () => {
  const person = await makePerson(query, { verified: false })
  const named = await makeWorkspace(person.token, { billing_email: 'victim@example.com' })
  assert.deepEqual([named.status, named.body.code], [403, 'email_not_verified'])
  const { status, body } = await makeWorkspace(person.token)
  assert.equal(status, 201)
  const first = { live: body.secret_key.key }
  const second = { live: (await makeSecretKey(harness, first)).key }
  for (const token of [person.token, first.live, second.live]) {
    const invited = await invite(token)
    assert.deepEqual([invited.status, invited.body.code], [403, 'email_not_verified'])
    const body = { billing_email: 'victim@example.com' }
    assert.equal((await ask('PATCH', '/v1/workspace', { token, body })).body.code, 'email_not_verified')
    assert.equal((await ask('PATCH', '/v1/workspace', { token, body: { name: 'Other' } })).status, 200)
    assert.equal((await ask('PATCH', '/v1/workspace', { token, body: { billing_email: null } })).status, 200)
  }
  assert.deepEqual(await query('select id from workspace_invites where workspace_id = $1', [body.id]), [])
  await verify(person.userId)
  for (const token of [person.token, first.live, second.live]) assert.equal((await invite(token)).status, 201)
})

test('a person sends two hundred a day over all workspaces, by session and by key', async () => {
  const person = await makePerson(query)
  const one = (await makeWorkspace(person.token)).body
  const two = (await makeWorkspace(person.token)).body
  const at = Date.UTC(2027, 0, 31, 12)
  await setStoreTime(new Date(at))
  // Beyond the idle day of a session: its last use is noted behind the answers, and so perhaps not yet.
  await query(
    "update sessions set last_seen_at = service_now() + interval '1 day', expires_at = service_now() + interval '9 days'",
  )
  await countAsSent(`person ${person.userId}`, lettersOfPersonMax - 2)
  await setStoreTime(new Date(at + 3_600_000))
  assert.equal((await invite(one.secret_key.key)).status, 201)
  const made = await makeSecretKey(harness, { live: two.secret_key.key })
  assert.equal((await invite(made.key)).status, 201)
  for (const token of [person.token, one.secret_key.key, two.secret_key.key, made.key]) {
    const { status, body, headers } = await invite(token)
    assert.deepEqual(
      [status, body.code, headers['retry-after']],
      [429, 'too_many_requests', String(23 * 3_600)],
    )
  }
  await setStoreTime(new Date(at + 86_400_000 - 1))
  assert.equal((await invite(person.token)).headers['retry-after'], '1')
  await setStoreTime(new Date(at + 86_400_000))
  assert.equal((await invite(person.token)).status, 201)
})

test('the people of one network together send no more than the network may', async () => {
  const people = [await makePerson(query), await makePerson(query)]
  const tokens = []
  for (const { token } of people) {
    assert.equal((await makeWorkspace(token)).status, 201)
    tokens.push(token)
  }
  const [one = '', two = ''] = tokens
  await countAsSent('network 2001:db8:0:1::/64', lettersOfNetworkMax - 1)
  assert.equal((await invite(one, '2001:db8:0:1::1')).status, 201)
  const refused = await invite(two, '2001:db8:0:1::2')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, String(24 * 3_600)])
  assert.equal((await invite(two, '2001:db8:0:2::2')).status, 201)
})

test('the operator’s workspaces invite in no person’s name', async () => {
  const vendor = await makeVendor(harness)
  const owner = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', verified: false })
  assert.equal((await invite(vendor.live)).status, 201)
  assert.equal((await invite(owner.token)).body.code, 'email_not_verified')
})

test('where the maker of a key is gone, its oldest owner stands behind it', async () => {
  const person = await makePerson(query)
  const { body } = await makeWorkspace(person.token)
  const heir = await makePerson(query, { workspaceId: body.id, role: 'owner', verified: false })
  const key = await makeSecretKey(harness, { live: person.token })
  await query('update secret_keys set created_by_id = gen_random_uuid()::text where id = $1', [key.id])
  assert.equal((await invite(key.key)).status, 201)
  await query('delete from workspace_members where workspace_id = $1 and user_id = $2', [
    body.id,
    person.userId,
  ])
  assert.equal((await invite(key.key)).body.code, 'email_not_verified')
  await verify(heir.userId)
  assert.equal((await invite(key.key)).status, 201)
})

test('an invitation names who made it, and no name that holds the address of a page', async () => {
  const person = await makePerson(query)
  const { status } = await makeWorkspace(person.token, { name: 'Win at https://evil.example' })
  assert.equal(status, 201)
  const email = uniqueEmail()
  await ask('POST', '/v1/invites', { token: person.token, body: { email, role: 'member' } })
  const mail = await mailbox.take(email)
  assert.equal(mail.subject, 'Join a workspace on Keyrail')
  assert.doesNotMatch(mail.text, /evil/)
  const [{ email: inviter }] = await query('select email from users where id = $1', [person.userId])
  const words = (text: string) => text.replaceAll(/\s+/g, ' ')
  assert.ok(
    words(mail.text).includes(`Made (${inviter}) invited you to a workspace on Keyrail, as a member.`),
    mail.text,
  )
  const other = uniqueEmail()
  const key = await makeSecretKey(harness, { live: person.token })
  await ask('POST', '/v1/invites', { token: key.key, body: { email: other, role: 'member' } })
  const { text } = await mailbox.take(other)
  assert.match(words(text), /A secret key of the workspace invited you to a workspace on Keyrail/)
})
