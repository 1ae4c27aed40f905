import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query, logged } = stage.harness
const password = 'a long enough word'
const tokens: string[] = []

const linkTo = async (address: string, path: string, before?: string) => {
  const link = await stage.linkTo(address, path, before)
  tokens.push(link.split('#token=')[1] ?? '')
  return link
}
async function signUp(email: string): Promise<string> {
  await ask('POST', '/v1/auth/users', { body: { email, password } })
  return await linkTo(email, '/verify-email')
}
const isVerified = async (email: string) =>
  (await query('select 1 from users where email = $1 and email_verified_at is not null', [email])).length > 0

test('a person verifies an address with a click, and once; opening the link changes nothing', async () => {
  const link = await signUp('ann@example.com')
  for (const method of ['GET', 'HEAD'])
    assert.equal((await fetch(stage.url + link, { method })).status, 200, method)
  const visit = await stage.visit(link)
  await visit.heading('Verify your e-mail address')
  assert.match(visit.page.url(), /\/verify-email$/)
  await visit.look('verify')
  assert.equal(await isVerified('ann@example.com'), false)
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  assert.equal(await isVerified('ann@example.com'), true)
  await visit.assertForgotten(tokens.at(-1) ?? '')
  await visit.look('verified')
  await visit.leave()

  const again = await stage.visit(link)
  await again.press('Verify e-mail address')
  await again.heading('This link has been used or has expired')
  await again.look('verify-used')
  await again.fill('E-mail address', 'ann@example.com')
  await again.fill('Password', password)
  await again.press('Send a new link')
  await again.heading('Your e-mail address is already verified')
  await again.leave()
})

test('the page of an expired link sends a new one, which works', async () => {
  const old = await signUp('bea@example.com')
  await query(`update mail_tokens set expires_at = service_now() - interval '1 second'`)
  const visit = await stage.visit(old)
  await visit.press('Verify e-mail address')
  await visit.heading('This link has been used or has expired')
  await visit.fill('E-mail address', 'bea@example.com')
  await visit.fill('Password', 'another word')
  await visit.press('Send a new link')
  await visit.text('E-mail address or password is wrong.')
  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('A new link is on its way')
  await visit.leave()

  const again = await stage.visit(await linkTo('bea@example.com', '/verify-email', old))
  await again.press('Verify e-mail address')
  await again.heading('Your e-mail address is verified')
  await again.leave()
})

test('a link works where another person is signed in, who stays signed in', async () => {
  const link = await signUp('cyd@example.com')
  const dan = await makePerson(query, { email: 'dan@example.com', verified: false })
  const visit = await stage.visit(link, { as: dan })
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  assert.deepEqual([await isVerified('cyd@example.com'), await isVerified('dan@example.com')], [true, false])
  await visit.page.goto(link)
  await visit.press('Verify e-mail address')
  await visit.heading('This link has been used or has expired')
  await visit.text('You are signed in as dan@example.com.')
  await visit.look('verify-used-by-another')
  await visit.press('Send a new link')
  await visit.heading('A new link is on its way')
  await linkTo('dan@example.com', '/verify-email')
  await visit.leave()
})

test('two tabs with one link: the second says that it has been used', async () => {
  const link = await signUp('eve@example.com')
  const visit = await stage.visit(link)
  const other = await visit.newTab(link)
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  await other.getByRole('button', { name: 'Verify e-mail address' }).click()
  await other.getByRole('heading', { name: 'This link has been used or has expired' }).waitFor()
  await visit.leave()
})

test('a link without a token is incomplete, and another one opens in the same tab', async () => {
  for (const path of ['/verify-email', '/verify-email#', '/verify-email#token=', '/verify-email#other=1']) {
    const visit = await stage.visit(path)
    await visit.heading('This link is incomplete')
    await visit.leave()
  }
  const link = await signUp('fay@example.com')
  const visit = await stage.visit('/verify-email')
  await visit.heading('This link is incomplete')
  await visit.look('incomplete')
  await visit.page.goto(link)
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  await visit.leave()
})

test('a person asks for a link and chooses a new password with it, once', async () => {
  const gus = await makePerson(query, { email: 'gus@example.com' })
  const visit = await stage.visit('/app/sign-in')
  await visit.page.getByRole('link', { name: 'Forgot your password?' }).click()
  await visit.heading('Forgot your password?')
  assert.match(visit.page.url(), /\/reset-password$/)
  await visit.look('forgot')
  await visit.fill('E-mail address', 'gus@example.com')
  await visit.press('Send a new link')
  await visit.heading('Check your e-mail')
  await visit.leave()

  const link = await linkTo('gus@example.com', '/reset-password')
  const reset = await stage.visit(link, { as: gus })
  await reset.heading('Choose a new password')
  await reset.look('reset')
  await reset.fill('New password', password)
  await reset.fill('Repeat the new password', 'something else')
  await reset.press('Change password')
  await reset.text('The passwords do not match.')
  await reset.fill('New password', 'gus@example.com')
  await reset.fill('Repeat the new password', 'gus@example.com')
  await reset.press('Change password')
  await reset.text('must not be the e-mail address')
  await reset.fill('New password', password)
  await reset.fill('Repeat the new password', password)
  await reset.press('Change password')
  await reset.heading('Your password was changed')
  await reset.look('reset-done')
  await reset.assertForgotten(password)
  await reset.page.getByRole('link', { name: 'Sign in' }).click()
  await reset.fill('E-mail address', 'gus@example.com')
  await reset.fill('Password', password)
  await reset.press('Sign in')
  await reset.heading('Create your workspace')
  await reset.leave()

  const again = await stage.visit(link)
  await again.fill('New password', 'another long enough word')
  await again.fill('Repeat the new password', 'another long enough word')
  await again.press('Change password')
  await again.heading('This link has been used or has expired')
  await again.look('reset-used')
  await again.leave()
})

test('a password can be shown while it is typed', async () => {
  const visit = await stage.visit('/reset-password#token=x.y')
  const field = visit.page.getByLabel('New password', { exact: true })
  assert.equal(await field.getAttribute('type'), 'password')
  await visit.press('Show new password')
  assert.equal(await field.getAttribute('type'), 'text')
  await visit.leave()
})

test('the page shows the same for addresses with and without an account', async () => {
  const visit = await stage.visit('/reset-password')
  await visit.fill('E-mail address', 'unknown@example.com')
  await visit.press('Send a new link')
  await visit.text('If unknown@example.com has an account, a link is on its way.')
  await visit.leave()
})

test('without JavaScript a page says that it needs it', async () => {
  const visit = await stage.visit('/verify-email#token=x.y', { javaScriptEnabled: false })
  await visit.page.locator('noscript p', { hasText: 'This page needs JavaScript.' }).waitFor()
  await visit.leave()
})

test('no mailed token is logged', () => {
  assert.ok(tokens.length > 5)
  for (const token of tokens) assert.ok(!logged.join('').includes(token.split('.')[1] ?? token))
})
