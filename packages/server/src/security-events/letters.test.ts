import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBilling } from '../../test/billing.ts'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { makeVendor } from '../../test/vendor.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings, trustProxy: 1 })
const { ask, query } = harness
harness.deps.mail.start()

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const from = (ip: string, agent = firefox) => ({ 'x-forwarded-for': ip, 'user-agent': agent })
const signIn = async (email: string, headers: Record<string, string>) =>
  assert.equal(
    (await ask('POST', '/v1/auth/sessions', { headers, body: { email, password: madePassword } })).status,
    201,
  )
const subjects = async () => {
  const isEmpty = async () => (await query('select from graphile_worker._private_jobs')).length === 0
  await until(isEmpty, 'the mail queue is empty')
  return (await mailbox.all()).map(({ to, subject }) => `${to}: ${subject}`).toSorted()
}
const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ')
/** A person without any sign-in, optionally with an unverified address. */
async function makeNewcomer(traits: { verified?: boolean } = {}) {
  const person = await makePerson(query, traits)
  await query(`delete from credentials where kind = 'session' and id = $1`, [person.sessionId])
  await query('delete from sessions where user_id = $1', [person.userId])
  return person
}

test('a sign-in from a new device sends a mail with the address and the program', async () => {
  const { email } = await makeNewcomer()
  await signIn(email, from('198.51.100.7'))
  // A browser update, and another address of the same provider.
  await signIn(email, from('198.51.100.200', firefox.replaceAll('140.0', '141.0')))
  assert.deepEqual(await subjects(), [], 'no mail for the first sign-in or a known device')
  await signIn(email, from('203.0.113.9'))
  const { subject, text, html } = await mailbox.take(email)
  assert.equal(subject, 'You signed in from a new device')
  assert.match(
    inOneLine(text),
    /signed in to your Keyrail account at \d{4}-\d\d-\d\dT[\d:.]+Z, with Firefox on Linux, from the IP address 203\.0\.113\.9\./,
  )
  assert.match(inOneLine(text), /If this was not you, someone knows your password\./)
  assert.ok(html.includes('203.0.113.9'))
  await signIn(email, from('203.0.113.9'))
  assert.deepEqual(await subjects(), [])
  await signIn(email, from('203.0.113.9', 'curl/8.14.1'))
  assert.match(inOneLine((await mailbox.take(email)).text), /with a program that calls itself curl,/)
  await signIn(email, from('2001:db8:1:2::3', 'Go to https://evil.example/ <b>now</b>'))
  const letter = await mailbox.take(email)
  assert.ok(!`${letter.text}${letter.html}`.includes('evil'))
  assert.match(inOneLine(letter.text), /with an unknown program, from the IP address 2001:db8:1:2::3\./)
})

test('an old session counts as a known device; an unverified address gets no mail', async () => {
  const old = await makePerson(query)
  await query('update sessions set ip = $2, user_agent = $3 where user_id = $1', [
    old.userId,
    '192.0.2.1',
    firefox,
  ])
  await signIn(old.email, from('192.0.2.1'))
  const stranger = await makeNewcomer({ verified: false })
  await signIn(stranger.email, from('192.0.2.1'))
  await signIn(stranger.email, from('192.0.3.1'))
  assert.deepEqual(await subjects(), [])
  assert.deepEqual(
    (
      await query(`select user_id from security_events where kind = 'new_device' and user_id = any($1)`, [
        [old.userId, stranger.userId],
      ])
    ).map(({ user_id }) => user_id),
    [stranger.userId],
  )
})

test('the first sign-in after a long time sends a mail', async () => {
  const { email, userId } = await makeNewcomer()
  await query(`update users set created_at = created_at - interval '200 days' where id = $1`, [userId])
  await signIn(email, from('192.0.2.1'))
  await mailbox.take(email, /new device/)
})

test('an address gets at most five of these mails an hour', async () => {
  const { email } = await makePerson(query)
  for (let i = 0; i < 8; i++) await signIn(email, from(`10.0.${i}.1`))
  assert.deepEqual(await subjects(), Array(5).fill(`${email}: You signed in from a new device`))
  for (let i = 0; i < 5; i++) await mailbox.take(email)
})

async function makeScene() {
  const vendor = await makeVendor(harness)
  const person = (role: 'owner' | 'admin') => makePerson(query, { workspaceId: vendor.workspaceId, role })
  return { ...vendor, one: await person('owner'), two: await person('owner'), admin: await person('admin') }
}

test('every owner gets a mail about a new key with an owner’s rights, not about other keys', async () => {
  const scene = await makeScene()
  const make = async (token: string, body: object) => {
    const { status, body: made } = await ask('POST', '/v1/secret_keys', {
      token,
      headers: from('198.51.100.7'),
      body,
    })
    assert.equal(status, 201)
    return made
  }
  await make(scene.one.token, { env: 'test' })
  await make(scene.admin.token, { env: 'live' })
  await make(scene.one.token, { env: 'live', preset: 'node' })
  assert.deepEqual(await subjects(), [])
  const key = await make(scene.one.token, { env: 'live', name: 'Click https://evil.example/' })
  for (const to of [scene.one.email, scene.two.email]) {
    const { subject, text, html } = await mailbox.take(to)
    assert.equal(subject, 'Acme has a new secret key with an owner’s rights')
    const words = inOneLine(text)
    assert.ok(words.includes(`It begins with ${key.display_prefix}. ${scene.one.email} did this`), words)
    assert.ok(words.includes('from the IP address 198.51.100.7, with Firefox on Linux.'), words)
    assert.ok(!`${text}${html}`.includes(key.key) && !`${text}${html}`.includes('evil'))
  }
  const rotated = await ask('POST', `/v1/secret_keys/${key.id}/rotate`, { token: key.key, body: {} })
  assert.equal(rotated.status, 200)
  const { text } = await mailbox.take(scene.two.email)
  assert.ok(
    inOneLine(text).includes(`The secret key that begins with ${key.display_prefix} was used for this`),
  )
  await mailbox.take(scene.one.email)
  // Limited, but still able to remove every other owner.
  const limited = await make(scene.one.token, { env: 'live', permissions: ['members:write'] })
  for (const to of [scene.one.email, scene.two.email])
    assert.ok(inOneLine((await mailbox.take(to)).text).includes(`It begins with ${limited.display_prefix}.`))
  assert.deepEqual(await subjects(), [])
})

test('an owner with an unverified address reads no name that others chose', async () => {
  const { workspaceId, live } = await makeVendor(harness)
  await query('update workspaces set name = $2 where id = $1', [workspaceId, 'Claim your prize today'])
  const owner = await makePerson(query, { workspaceId, role: 'owner', verified: false })
  const make = () => ask('POST', '/v1/secret_keys', { token: live, body: { env: 'live' } })
  assert.equal((await make()).status, 201)
  const { subject, text, html } = await mailbox.take(owner.email)
  assert.equal(subject, 'Your workspace has a new secret key with an owner’s rights')
  assert.ok(
    inOneLine(text).startsWith('A secret key with an owner’s rights was created in your workspace at '),
  )
  assert.doesNotMatch(text + html, /prize/)
})

test('a new owner causes a mail to the other owners, by promotion and by invitation', async () => {
  const scene = await makeScene()
  const promoted = await ask('PATCH', `/v1/members/${scene.admin.userId}`, {
    token: scene.one.token,
    body: { role: 'owner' },
  })
  assert.equal(promoted.status, 200)
  for (const to of [scene.one.email, scene.two.email]) {
    const { subject, text } = await mailbox.take(to)
    assert.equal(subject, 'Acme has a new owner')
    assert.ok(
      inOneLine(text).startsWith(`${scene.admin.email} became an owner of the workspace “Acme” at `),
      text,
    )
    assert.ok(inOneLine(text).includes(`${scene.one.email} did this`), text)
  }
  const { body: invite } = await ask('POST', '/v1/invites', {
    token: scene.live,
    body: { email: `new-${scene.workspaceId}@example.com`, role: 'owner' },
  })
  const newcomer = await makePerson(query)
  const body = { token: invite.token }
  assert.equal((await ask('POST', '/v1/auth/invites/accept', { token: newcomer.token, body })).status, 200)
  for (const to of [scene.one.email, scene.two.email, scene.admin.email]) {
    const { text } = await mailbox.take(to)
    assert.ok(inOneLine(text).includes(`${newcomer.email} became an owner`), text)
  }
  assert.deepEqual(
    (await subjects()).filter(line => !line.startsWith('new-')),
    [],
  )
})

test('without an owner, the billing address gets the mail', async () => {
  const vendor = await makeVendor(harness)
  const billing = `billing-${vendor.workspaceId}@example.com`
  await makeBilling(query, vendor.workspaceId, billing)
  await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })
  await mailbox.take(billing, /new secret key/)
})

test('a change that is rolled back sends no mail and records no event', async () => {
  const { workspaceId, one } = await makeScene()
  await query(
    `create function refuse_row() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
     create trigger refuse_row before insert on audit_logs for each row execute function refuse_row()`,
  )
  const { status } = await ask('POST', '/v1/secret_keys', { token: one.token, body: { env: 'live' } })
  await query('drop trigger refuse_row on audit_logs; drop function refuse_row()')
  assert.equal(status, 500)
  assert.deepEqual(
    (await subjects()).filter(line => !line.startsWith('new-')),
    [],
  )
  assert.deepEqual(await query('select from security_events where workspace_id = $1', [workspaceId]), [])
})

test('beyond five letters of a kind in an hour, one gathers the new keys that follow', async () => {
  const vendor = await makeVendor(harness)
  const billing = `billing-${vendor.workspaceId}@example.com`
  await makeBilling(query, vendor.workspaceId, billing)
  const prefixes: string[] = []
  for (let i = 0; i < 8; i++) {
    harness.clock.advance(1_000)
    const { body } = await ask('POST', '/v1/secret_keys', { token: vendor.live, body: { env: 'live' } })
    prefixes.push(body.display_prefix)
  }
  for (let i = 0; i < 5; i++) await mailbox.take(billing, /has a new secret key/)
  await query('update graphile_worker._private_jobs set run_at = now()')
  const { text } = await mailbox.take(billing, /^Acme has more secret keys with an owner’s rights$/)
  assert.ok(inOneLine(text).includes('3 more secret keys'), text)
  for (const prefix of prefixes.slice(5)) assert.ok(text.includes(prefix), text)
  for (const prefix of prefixes.slice(0, 5)) assert.ok(!text.includes(prefix), text)
})
