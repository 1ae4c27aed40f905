import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeMailbox } from '../../test/mailbox.ts'
import { madePassword, makePerson, openSession } from '../../test/people.ts'
import { uniqueSlug } from '../../test/vendor.ts'

const mailbox = makeMailbox()
const harness = await startHarness({ mail: mailbox.settings, publicUrl: 'https://keys.example.com' })
const { ask, query } = harness
harness.deps.mail.start()

const password = 'a walk in the park'
const uniqueEmail = (name = 'ann') => `${uniqueSlug(name)}@example.com`
const signUp = (email: string, more: object = {}) =>
  ask('POST', '/v1/auth/users', { body: { email, password, ...more } })
const signIn = (email: string, secret = password) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password: secret } })
const verify = (token: unknown) => ask('POST', '/v1/auth/email_verifications/consume', { body: { token } })

test('a person signs up, signs in, and verifies the address by the mailed link', async () => {
  const email = uniqueEmail()
  assert.deepEqual((await signUp(email, { name: 'Ann' })).body, { status: 'accepted' })
  const signedIn = await signIn(email)
  assert.equal(signedIn.status, 201)
  assert.match(signedIn.body.token, /^krses_[0-9A-Za-z]{38}$/)
  assert.deepEqual(
    [signedIn.body.user.email, signedIn.body.user.name, signedIn.body.user.email_verified],
    [email, 'Ann', false],
  )
  assert.deepEqual([signedIn.body.workspace_id, signedIn.body.workspaces], [null, []])

  const mail = await mailbox.take(email)
  assert.equal(mail.page, 'https://keys.example.com/verify-email')
  // Anyone can sign up with any address, so the mail must not contain the name that they chose.
  assert.ok(!mail.text.includes('Ann') && !mail.html.includes('Ann'))
  assert.ok(mail.html.includes(`https://keys.example.com/verify-email#token=${mail.token}`))
  assert.equal((await verify(mail.token)).body.status, 'verified')
  const { body: me } = await ask('GET', '/v1/auth/me', { token: signedIn.body.token })
  assert.deepEqual([me.email_verified, me.workspace_id, me.role], [true, null, null])
})

test('signing up with a known address mails a notice to it and changes nothing', async () => {
  const email = uniqueEmail('Ann.Bea')
  await signUp(email)
  await mailbox.take(email, /Verify/)
  const again = await ask('POST', '/v1/auth/users', {
    body: { email: email.toUpperCase(), password: 'another password', name: 'Eve' },
  })
  assert.deepEqual([again.status, again.body], [202, { status: 'accepted' }])
  const notice = await mailbox.take(email, /already/)
  assert.equal(notice.token, undefined)
  assert.equal((await signIn(email.toUpperCase(), 'another password')).status, 401)
  const { body } = await signIn(email.toUpperCase())
  assert.deepEqual([body.user.email, body.user.name], [email, null])
})

test('concurrent sign-ups for one address create one account and send one mail each', async () => {
  const email = uniqueEmail()
  const heard = await Promise.all(Array.from({ length: 5 }, () => signUp(email)))
  assert.deepEqual(new Set(heard.map(({ status }) => status)), new Set([202]))
  const rows = await query('select id from users where address_key = lower($1)', [email])
  assert.equal(rows.length, 1)
  const subjects = []
  for (let i = 0; i < 5; i++) subjects.push((await mailbox.take(email)).subject)
  assert.equal(subjects.filter(subject => subject.startsWith('Verify')).length, 1)
})

test('a new password that is short, common or the address is refused, without quoting it', async () => {
  const email = 'somebody.at.length@example.com'
  for (const [bad, message] of [
    ['elevenchars', 'must have at least 12 characters'],
    ['😀'.repeat(11), 'must have at least 12 characters'],
    ['unbelievable', 'is a common password: choose another one'],
    ['aaaaaaaaaaaaaa', 'is a common password: choose another one'],
    [email.toUpperCase(), 'must not be the e-mail address'],
  ]) {
    const { status, body } = await ask('POST', '/v1/auth/users', { body: { email, password: bad } })
    assert.deepEqual([status, body.errors], [400, [{ path: 'password', message }]], bad)
    assert.ok(!JSON.stringify(body).includes(String(bad)))
  }
  assert.deepEqual(await query('select from users where address_key = $1', [email]), [])
})

test('a password is used as given: spaces, any script, at most 256 characters', async () => {
  for (const good of ['  leading and trailing  ', 'Größenwahnsinn!', `${'😀😎🙃'.repeat(85)}x`]) {
    const email = uniqueEmail()
    assert.equal((await signUp(email, { password: good })).status, 202)
    assert.equal((await signIn(email, good)).status, 201)
    assert.equal((await signIn(email, good.trim().slice(0, -1))).status, 401)
  }
  assert.equal((await signUp(uniqueEmail(), { password: `${'ab'.repeat(128)}c` })).status, 400)
})

test('a password change needs the current one and ends every other session', async () => {
  const { email, token, userId } = await makePerson(query)
  const other = await openSession(query, userId)
  const change = (current_password: string, next: string) =>
    ask('POST', '/v1/auth/me/password', { token, body: { current_password, password: next } })

  const wrong = await change('not my password', password)
  assert.deepEqual([wrong.status, wrong.body.code], [403, 'invalid_credentials'])
  assert.equal((await ask('GET', '/v1/auth/me', { token: other.token })).status, 200)

  assert.equal((await change(madePassword, password)).status, 200)
  assert.equal((await ask('GET', '/v1/auth/me', { token })).status, 200)
  assert.equal((await ask('GET', '/v1/auth/me', { token: other.token })).status, 401)
  assert.equal((await signIn(email, madePassword)).status, 401)
  assert.equal((await signIn(email)).status, 201)
  assert.equal((await mailbox.take(email, /was changed/)).token, undefined)
})

test('of two concurrent password changes, one succeeds and the other is refused', async () => {
  const { token } = await makePerson(query)
  const change = (next: string) =>
    ask('POST', '/v1/auth/me/password', { token, body: { current_password: madePassword, password: next } })
  const statuses = (await Promise.all([change('one of two changes'), change('two of two changes')])).map(
    ({ status }) => status,
  )
  assert.deepEqual(statuses.toSorted(), [200, 403])
})

test('a reset by the mailed link sets the password, ends all sessions and sends a notice', async () => {
  const { email, token, userId } = await makePerson(query)
  const other = await openSession(query, userId)
  assert.equal(
    (await ask('POST', '/v1/auth/password_resets', { body: { email: email.toUpperCase() } })).status,
    202,
  )
  const mail = await mailbox.take(email, /Reset/)
  assert.equal(mail.page, 'https://keys.example.com/reset-password')
  assert.match(mail.text, /^Hello Made,$/m)
  const reset = (secret: string) =>
    ask('POST', '/v1/auth/password_resets/consume', { body: { token: mail.token, password: secret } })

  // A refused password does not use up the token.
  assert.deepEqual((await reset('short')).body.errors?.[0]?.path, 'password')
  assert.deepEqual((await reset(email)).body.errors?.[0]?.path, 'password')
  assert.deepEqual((await reset(password)).body, { status: 'password_changed', made_ended: false })
  for (const gone of [token, other.token]) {
    assert.equal((await ask('GET', '/v1/auth/me', { token: gone })).status, 401)
  }
  assert.equal((await signIn(email, madePassword)).status, 401)
  assert.equal((await signIn(email)).status, 201)
  await mailbox.take(email, /was changed/)
  const again = await reset('yet another password')
  assert.deepEqual([again.status, again.body.code], [400, 'invalid_token'])
})

test('a password change invalidates a pending reset link', async () => {
  const { email, token } = await makePerson(query)
  await ask('POST', '/v1/auth/password_resets', { body: { email } })
  const mail = await mailbox.take(email, /Reset/)
  const body = { current_password: madePassword, password }
  assert.equal((await ask('POST', '/v1/auth/me/password', { token, body })).status, 200)
  const late = await ask('POST', '/v1/auth/password_resets/consume', {
    body: { token: mail.token, password: 'chosen by somebody else' },
  })
  assert.equal(late.body.code, 'invalid_token')
})

test('a verification request replaces the earlier link; a verified person gets no mail', async () => {
  const { email, token } = await makePerson(query, { verified: false })
  const request = () => ask('POST', '/v1/auth/email_verifications', { token })
  await request()
  const first = await mailbox.take(email)
  await request()
  const second = await mailbox.take(email)
  assert.equal((await verify(first.token)).body.code, 'invalid_token')
  assert.equal((await verify(second.token)).status, 200)
  const before = await query('select count(*)::int from mail_throttles')
  assert.deepEqual((await request()).body, { status: 'accepted' })
  assert.deepEqual(await query('select count(*)::int from mail_throttles'), before)
})

test('an address gets five mails of a kind an hour; further ones are dropped silently', async () => {
  const { email } = await makePerson(query)
  const jobs = async () =>
    (
      await query(
        `select count(*)::int as count from mail_throttles t, unnest(queued_at) where kind = 'password_reset'`,
      )
    )[0].count
  const before = await jobs()
  for (let i = 0; i < 8; i++) {
    const { status, body } = await ask('POST', '/v1/auth/password_resets', { body: { email } })
    assert.deepEqual([status, body], [202, { status: 'accepted' }])
  }
  assert.equal((await jobs()) - before, 5)
})

test('the name can be changed and removed, and stays when the body omits it', async () => {
  const { token } = await makePerson(query, { name: 'First' })
  const patch = (body: object) => ask('PATCH', '/v1/auth/me', { token, body })
  assert.equal((await patch({ name: 'Zoë 😀' })).body.name, 'Zoë 😀')
  assert.equal((await patch({})).body.name, 'Zoë 😀')
  assert.equal((await patch({ name: null })).body.name, null)
  assert.equal((await patch({ email: 'other@example.com' })).body.errors[0].path, 'email')
})
