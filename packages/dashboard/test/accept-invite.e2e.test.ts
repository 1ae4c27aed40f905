import assert from 'node:assert/strict'
import { test } from 'node:test'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness
const acme = await makeVendor(stage.harness)
const password = 'a long enough word'
const signUp = (email: string) => ask('POST', '/v1/auth/users', { body: { email, password } })
async function invite(email: string) {
  const { body } = await ask('POST', '/v1/invites', { token: acme.live, body: { email, role: 'admin' } })
  return { id: String(body.id), link: await stage.linkTo(email, '/accept-invite') }
}
const roleOf = async (email: string) => {
  const { body } = await ask('GET', '/v1/members', { token: acme.live })
  return (body.data as { email: string; role: string }[]).find(one => one.email === email)?.role
}

test('the page says who invites whom to where, before anybody signs in or accepts', async () => {
  const ada = await makePerson(query, {
    workspaceId: acme.workspaceId,
    role: 'owner',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
  })
  const sent = { token: ada.token, body: { email: 'grace@example.com', role: 'admin' } }
  assert.equal((await ask('POST', '/v1/invites', sent)).status, 201)
  const link = await stage.linkTo('grace@example.com', '/accept-invite')
  const sentence = 'Ada Lovelace (ada@example.com) invites you, grace@example.com, to Acme as an admin.'
  // Opening it twice shows that the first time used nothing up.
  for (const as of [undefined, await makePerson(query, { email: 'grace@example.com' })]) {
    const visit = await stage.visit(link, { ...(as && { as }) })
    await visit.text(sentence)
    await visit.look(as === undefined ? 'accept-invited' : 'accept-invited-known')
    await visit.assertForgotten(link.split('token=')[1] ?? '')
    await visit.leave()
  }
  assert.equal(await roleOf('grace@example.com'), undefined)
})

test('where the invitation cannot be read, the page says so and can try again', async () => {
  const { link } = await invite('joy@example.com')
  const visit = await stage.visit('/accept-invite')
  const path = '**/v1/auth/invites/identify'
  await visit.page.route(path, route =>
    route.fulfill({
      status: 503,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        code: 'unavailable',
        status: 503,
        title: 'Unavailable',
        detail: 'busy',
        request_id: 'r',
      }),
    }),
  )
  await visit.page.goto(link)
  await visit.text('Keyrail is busy.')
  await visit.look('accept-unread')
  await visit.page.unroute(path)
  await visit.press('Try again')
  await visit.text('A secret key of the workspace invites you, joy@example.com, to Acme as an admin.')
  await visit.leave()
})

test('an invited person makes an account, joins and is in the workspace', async () => {
  const { link } = await invite('ann@example.com')
  const visit = await stage.visit(link)
  await visit.heading('Accept the invitation')
  assert.match(visit.page.url(), /\/accept-invite$/)
  await visit.look('accept')
  await visit.page.getByText('No, create one').click()
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', password)
  await visit.look('accept-new')
  await visit.press('Create an account and accept')
  await visit.heading('Welcome to Acme')
  assert.equal(await roleOf('ann@example.com'), 'admin')
  await visit.look('accepted')
  await visit.press('Go to Acme')
  await visit.heading('Overview')
  await visit.leave()
})

test('a person with an account signs in and joins', async () => {
  await signUp('bea@example.com')
  const { link } = await invite('bea@example.com')
  const visit = await stage.visit(link)
  await visit.fill('E-mail address', 'bea@example.com')
  await visit.fill('Password', 'something else')
  await visit.press('Sign in and accept')
  await visit.text('E-mail address or password is wrong.')
  assert.equal(await roleOf('bea@example.com'), undefined)
  await visit.fill('Password', password)
  await visit.page.keyboard.press('Enter')
  await visit.heading('Welcome to Acme')
  assert.equal(await roleOf('bea@example.com'), 'admin')
  await visit.leave()
})

test('an unverified other address must be verified before it joins', async () => {
  await signUp('home@example.com')
  const { link } = await invite('work@example.com')
  const visit = await stage.visit(link)
  await visit.fill('E-mail address', 'home@example.com')
  await visit.fill('Password', password)
  await visit.press('Sign in and accept')
  await visit.heading('Verify your address first')
  await visit.look('accept-unverified')
  await visit.press('I have verified it, accept now')
  await visit.text('The address is not verified yet.')
  const verifying = await stage.visit(await stage.linkTo('home@example.com', '/verify-email'))
  await verifying.press('Verify e-mail address')
  await verifying.heading('Your e-mail address is verified')
  await verifying.leave()
  await visit.press('I have verified it, accept now')
  await visit.heading('Welcome to Acme')
  assert.equal(await roleOf('home@example.com'), 'admin')
  await visit.leave()
})

test('a signed-in person accepts as that person, or with another account', async () => {
  const { link } = await invite('cyd@example.com')
  const dan = await makePerson(query, { email: 'dan@example.com' })
  const cyd = await makePerson(query, { email: 'cyd@example.com' })
  const visit = await stage.visit(link, { as: dan })
  await visit.text('You are signed in as dan@example.com.')
  await visit.look('accept-signed-in')
  await visit.press('Use another account')
  await visit.fill('E-mail address', cyd.email)
  await visit.fill('Password', madePassword)
  await visit.press('Sign in and accept')
  await visit.heading('Welcome to Acme')
  assert.deepEqual([await roleOf('cyd@example.com'), await roleOf('dan@example.com')], ['admin', undefined])
  await visit.leave()
})

test('a session that another tab has replaced accepts nothing for the person shown', async () => {
  const { link } = await invite('kim@example.com')
  const kim = await makePerson(query, { email: 'kim@example.com' })
  const lee = await makePerson(query, { email: 'lee@example.com' })
  const visit = await stage.visit(link, { as: kim })
  await visit.text('You are signed in as kim@example.com.')
  const tab = await visit.newTab('/app/account')
  await tab.evaluate(session => {
    sessionStorage.setItem('keyrail.session', JSON.stringify(session))
    new BroadcastChannel('keyrail.session').postMessage({ type: 'started', session })
  }, lee)
  await visit.text('Do you have a Keyrail account?')
  await visit.leave()
})

test('a session that has ended does not stand before the invitation of another person', async () => {
  const { link } = await invite('eve@example.com')
  const fay = await makePerson(query, { email: 'fay@example.com' })
  await query('update sessions set ended_at = service_now() where user_id = $1', [fay.userId])
  const visit = await stage.visit(link, { as: fay })
  await visit.page.waitForResponse(response => response.url().endsWith('/v1/auth/me'))
  await visit.page.getByText('No, create one').click()
  await visit.fill('E-mail address', 'eve@example.com')
  await visit.fill('Password', password)
  await visit.press('Create an account and accept')
  await visit.heading('Welcome to Acme')
  await visit.leave()
})

test('signing up with a known address and another password accepts nothing', async () => {
  await signUp('gil@example.com')
  const { link } = await invite('gil@example.com')
  const visit = await stage.visit(link)
  await visit.page.getByText('No, create one').click()
  await visit.fill('E-mail address', 'gil@example.com')
  await visit.fill('Password', 'not the one it has')
  await visit.press('Create an account and accept')
  await visit.text('This address already has an account with another password.')
  assert.equal(await roleOf('gil@example.com'), undefined)
  await visit.leave()
})

test('a used, revoked or broken invitation is no longer valid; a member is recognised', async () => {
  const [used, revoked, broken] = [
    await invite('hal@example.com'),
    await invite('ida@example.com'),
    await invite('jon@example.com'),
  ]
  await ask('POST', `/v1/invites/${revoked.id}/revoke`, { token: acme.live })
  const hal = await makePerson(query, { email: 'hal@example.com' })
  for (const [name, link, title] of [
    ['joined', used.link, 'Welcome to Acme'],
    ['used', used.link, 'This invitation is no longer valid'],
    ['revoked', revoked.link, 'This invitation is no longer valid'],
    ['broken', broken.link.slice(0, -2), 'This invitation is no longer valid'],
    ['member', broken.link, 'You are already a member'],
  ] as const) {
    const visit = await stage.visit(link, { as: hal })
    if (name === 'joined' || name === 'member') await visit.press('Accept as hal@example.com')
    await visit.heading(title)
    if (name === 'used' || name === 'member') await visit.look(`accept-${name}`)
    await visit.leave()
  }
})

test('without a token the page says that the link is incomplete', async () => {
  const visit = await stage.visit('/accept-invite')
  await visit.heading('This link is incomplete')
  await visit.leave()
})
