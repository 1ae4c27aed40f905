import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './test-stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness

const password = 'a long enough word'
async function signUp(email: string): Promise<string> {
  await ask('POST', '/v1/auth/users', { body: { email, password } })
  return await stage.linkTo(email, '/verify-email')
}
const isVerified = async (email: string) => {
  const [user] = await query('select email_verified_at is not null as it from users where email = $1', [
    email,
  ])
  return user.it
}

test('a click verifies the address, and not the opening of the link, which programs that look into mail do too', async () => {
  const link = await signUp('ann@example.com')
  assert.equal((await fetch(stage.url + link)).status, 200)
  const visit = await stage.visit(link)
  await visit.tabTo('Verify e-mail address')
  assert.equal(await isVerified('ann@example.com'), false)
  assert.doesNotMatch(visit.page.url(), /#/, 'the address bar has no token from the first moment')
  await visit.assertAccessible()
  await visit.page.keyboard.press('Enter')
  await visit.heading('Your e-mail address is verified')
  assert.equal(await isVerified('ann@example.com'), true)
  await visit.assertAccessible()
  await visit.leave()
})

test('a link that was used says so, and whoever is verified already is told when asking for another', async () => {
  const link = await signUp('bea@example.com')
  for (const title of ['Your e-mail address is verified', 'This link has been used or has expired']) {
    const visit = await stage.visit(link)
    await visit.press('Verify e-mail address')
    await visit.heading(title)
    if (title.startsWith('This')) {
      await visit.fill('E-mail address', 'bea@example.com')
      await visit.fill('Password', password)
      await visit.press('Send a new link')
      await visit.heading('Your e-mail address is verified already')
    }
    await visit.leave()
  }
})

test('a link that is broken leads to a new one, which works, and the session for it has ended', async () => {
  const old = await signUp('cyd@example.com')
  const visit = await stage.visit(old.slice(0, -3))
  await visit.press('Verify e-mail address')
  await visit.heading('This link has been used or has expired')
  await visit.assertAccessible()

  await visit.press('Send a new link')
  await visit.text('Type your e-mail address.')
  await visit.tabTo('E-mail address')
  await visit.fill('E-mail address', 'cyd@example.com')
  await visit.fill('Password', 'another word')
  await visit.press('Send a new link')
  await visit.text('E-mail address or password is wrong.')
  await visit.assertAccessible()

  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('A new link is on its way')
  await visit.leave()
  const alive = await query('select 1 from sessions where ended_at is null')
  assert.deepEqual(alive, [])

  const again = await stage.visit(await stage.linkTo('cyd@example.com', '/verify-email', old))
  await again.press('Verify e-mail address')
  await again.heading('Your e-mail address is verified')
  await again.leave()
})

test('without a token the page says that the link is not complete', async () => {
  for (const path of ['/verify-email', '/verify-email#', '/verify-email#token=', '/verify-email#other=1']) {
    const visit = await stage.visit(path)
    await visit.heading('This link is not complete')
    await visit.leave()
  }
})

test('another link opened in the same tab begins anew', async () => {
  const link = await signUp('dan@example.com')
  const visit = await stage.visit('/verify-email')
  await visit.heading('This link is not complete')
  await visit.page.goto(link)
  await visit.page.waitForURL(url => url.hash === '')
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  await visit.leave()
})

test('without JavaScript the page says what it needs', async () => {
  const visit = await stage.visit('/verify-email', { javaScriptEnabled: false })
  await visit.page.locator('noscript p', { hasText: 'This page needs JavaScript.' }).waitFor()
  await visit.page.context().close()
})

test('nothing that was mailed stands in a log line', () => {
  const links = stage.mail.received.flatMap(({ parsed }) => parsed.text?.match(/#token=(\S+)/)?.[1] ?? [])
  assert.ok(links.length > 3)
  for (const token of links) assert.ok(!stage.harness.logged.join('').includes(token.split('.')[1] ?? token))
})
