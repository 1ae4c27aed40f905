import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeVendor } from '../../test/vendor.ts'
import { openStage } from './test-stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness
const vendor = await makeVendor(stage.harness)

const password = 'a long enough word'
const signUp = (email: string) => ask('POST', '/v1/auth/users', { body: { email, password } })
async function invite(email: string, role = 'admin') {
  const { body } = await ask('POST', '/v1/invites', { token: vendor.live, body: { email, role } })
  return { id: body.id as string, link: await stage.linkTo(email, '/accept-invite') }
}
const members = async () => {
  const { body } = await ask('GET', '/v1/members', { token: vendor.live })
  return (body.data as { email: string; role: string }[]).map(({ email, role }) => `${email} ${role}`)
}
const sessionsAlive = () => query('select 1 from sessions where ended_at is null')

test('whoever has no account makes one on the page and is in; the session ends with it', async () => {
  const { link } = await invite('ann@example.com')
  const visit = await stage.visit(link)
  await visit.assertAccessible()
  await visit.tabTo('Yes, sign in')
  await visit.page.keyboard.press('ArrowDown')
  await visit.fill('Name (if you like)', 'Ann')
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', 'short')
  await visit.press('Make an account and accept')
  await visit.text('A password needs at least 12 characters; this one has 5.')
  await visit.assertAccessible()
  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('Welcome to Acme')
  await visit.text('You have joined as an admin.')
  await visit.assertAccessible()
  await visit.leave()
  assert.ok((await members()).includes('ann@example.com admin'))
  assert.deepEqual(await sessionsAlive(), [])
})

test('whoever has an account signs in and is in', async () => {
  await signUp('bea@example.com')
  const { link } = await invite('bea@example.com', 'member')
  const visit = await stage.visit(link)
  await visit.press('Sign in and accept')
  await visit.text('Type your e-mail address.')
  await visit.fill('E-mail address', 'bea@example.com')
  await visit.fill('Password', 'something else')
  await visit.press('Sign in and accept')
  await visit.text('E-mail address or password is wrong.')
  await visit.tabTo('Password')
  await visit.assertAccessible()
  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('Welcome to Acme')
  await visit.leave()
  assert.ok((await members()).includes('bea@example.com member'))
  assert.deepEqual(await sessionsAlive(), [])
})

test('an account of another address is told to verify it first, and accepts without signing in again', async () => {
  await signUp('home@example.com')
  const { link } = await invite('work@example.com')
  const visit = await stage.visit(link)
  await visit.fill('E-mail address', 'home@example.com')
  await visit.fill('Password', password)
  await visit.press('Sign in and accept')
  await visit.heading('Verify your address first')
  await visit.assertAccessible()
  await visit.press('I have verified it, accept now')
  await visit.text('The address is not verified yet.')
  const before = await stage.linkTo('home@example.com', '/verify-email')
  await visit.press('Send me a verification link')
  await visit.text('A link is on its way.')
  await visit.assertAccessible()

  const verifying = await stage.visit(await stage.linkTo('home@example.com', '/verify-email', before))
  await verifying.press('Verify e-mail address')
  await verifying.heading('Your e-mail address is verified')
  await verifying.leave()

  await visit.press('I have verified it, accept now')
  await visit.heading('Welcome to Acme')
  await visit.leave()
  assert.ok((await members()).includes('home@example.com admin'))
  assert.deepEqual(await sessionsAlive(), [])
})

test('an address that has an account cannot be signed up for anew, and nothing is accepted', async () => {
  await signUp('cyd@example.com')
  const { link } = await invite('cyd@example.com')
  const visit = await stage.visit(link)
  await visit.fill('E-mail address', 'cyd@example.com')
  await visit.page.keyboard.press('Shift+Tab')
  await visit.page.keyboard.press('ArrowDown')
  await visit.fill('Password', 'not the one it has')
  await visit.press('Make an account and accept')
  await visit.text('This address has an account with another password.')
  await visit.leave()
  assert.deepEqual(await sessionsAlive(), [])
})

test('an invitation that is used, revoked or broken is over, and a member is told to be one', async () => {
  const first = await invite('dan@example.com')
  const second = await invite('eve@example.com')
  const third = await invite('fay@example.com')
  await ask('POST', `/v1/invites/${second.id}/revoke`, { token: vendor.live })
  await signUp('dan@example.com')
  for (const [link, title] of [
    [first.link, 'Welcome to Acme'],
    [first.link, 'This invitation is over'],
    [second.link, 'This invitation is over'],
    [third.link.slice(0, -2), 'This invitation is over'],
    [third.link, 'You are a member already'],
  ] as const) {
    const visit = await stage.visit(link)
    await visit.fill('E-mail address', 'dan@example.com')
    await visit.fill('Password', password)
    await visit.page.keyboard.press('Enter')
    await visit.heading(title)
    if (link === second.link) await visit.assertAccessible()
    await visit.leave()
  }
  assert.deepEqual(await sessionsAlive(), [])
})

test('whoever leaves the page while it waits leaves no session behind', async () => {
  await signUp('gus@example.com')
  const { link } = await invite('elsewhere@example.com')
  const visit = await stage.visit(link)
  await visit.fill('E-mail address', 'gus@example.com')
  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('Verify your address first')
  assert.equal((await sessionsAlive()).length, 1)
  await visit.page.goto('/verify-email')
  while ((await sessionsAlive()).length > 0);
  await visit.leave()
})

test('without a token the page says that the link is not complete', async () => {
  const visit = await stage.visit('/accept-invite')
  await visit.heading('This link is not complete')
  await visit.assertAccessible()
  await visit.leave()
})
