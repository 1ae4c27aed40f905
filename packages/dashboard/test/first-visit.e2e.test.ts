import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { openStage } from './stage.ts'

const stage = await openStage()

test('a new person makes an account and a workspace, and sees its secret key once', async () => {
  const visit = await stage.visit('/app/')
  await visit.heading('Create the first account')
  await visit.look('sign-up-first')
  await visit.fill('Name (optional)', 'Ann')
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', 'short')
  await visit.press('Create account')
  await visit.text('A password needs at least 12 characters. This one has 5.')
  await visit.look('sign-up-fault')
  await visit.fill('Password', '')
  await visit.press('Create account')
  await visit.text('Enter a password.')
  await visit.fill('Password', 'a long enough word')
  await visit.press('Create account')
  await visit.heading('Create your workspace')
  await visit.look('new-workspace')
  await visit.fill('Name', 'Acme Büro')
  await visit.press('Create workspace')
  await visit.text('Your first secret key')
  await visit.look('secret-dialog')
  const secret = await visit.shownOnce()
  await visit.page.keyboard.press('Escape')
  await visit.text('Close without storing it?')
  await visit.look('secret-dialog-asks')
  await visit.store()
  await visit.heading('Get started')
  await visit.assertForgotten(secret)
  await visit.look('get-started')
  await visit.leave()

  // From now on, a stranger signs in, or follows the link to an account.
  const next = await stage.visit('/app/keys')
  await next.heading('Sign in')
  await next.look('sign-in')
  await next.page.getByRole('link', { name: 'No account yet? Create one' }).click()
  await next.heading('Create your account')
  await next.look('sign-up')
  await next.leave()
})

test('a new account leads to the page that was asked for, the first one too', async () => {
  const empty = await openStage()
  for (const name of ['ann', 'bob']) {
    const visit = await empty.visit('/app/workspaces/adopt')
    if (name === 'ann') {
      await visit.heading('Create the first account')
      await visit.page.getByRole('link', { name: 'You have an account? Sign in' }).click()
    }
    await visit.heading('Sign in')
    await visit.page.getByRole('link', { name: 'No account yet? Create one' }).click()
    await visit.fill('E-mail address', `${name}@example.com`)
    await visit.fill('Password', 'a long enough word')
    await visit.press('Create account')
    await visit.heading('Open a workspace by its secret key')
    assert.match(visit.page.url(), /\/app\/workspaces\/adopt$/)
    await visit.leave()
  }
  const astray = await empty.visit('/app/sign-up?to=//other.example')
  await astray.page.getByRole('link', { name: 'You have an account? Sign in' }).click()
  await astray.fill('E-mail address', 'ann@example.com')
  await astray.fill('Password', 'a long enough word')
  await astray.press('Sign in')
  await astray.heading('Create your workspace')
  await astray.leave()
})

test('where accounts are for the invited, or for no one, the first page says so', async () => {
  const invited = await openStage({ signUp: 'invited' })
  const visit = await invited.visit('/app/')
  await visit.heading('Sign in')
  await visit.page.getByRole('link', { name: 'Invited, without an account? Create one' }).click()
  await visit.text('For the e-mail address that was invited.')
  await visit.leave()

  const closed = await openStage({ signUp: 'closed' })
  const other = await closed.visit('/app/')
  await other.heading('Sign in')
  assert.equal(await other.page.getByRole('link', { name: /account/ }).count(), 0)
  await other.page.goto('/app/sign-up')
  await other.text('This installation takes no new accounts.')
  assert.equal(await other.page.getByRole('button', { name: 'Create account' }).count(), 0)
  await other.look('sign-up-closed')
  await other.leave()
})

test('the first secret is shown although the workspace cannot be opened yet', async () => {
  const person = await makePerson(stage.harness.query, { name: 'Bea' })
  const visit = await stage.visit('/app/workspaces/new', { as: person })
  const { page } = visit
  await page.route('**/v1/auth/sessions/current/workspace', route => route.abort())
  await visit.fill('Name', 'Globex')
  await visit.press('Create workspace')
  await visit.text('Your first secret key')
  const secret = await visit.shownOnce()
  assert.match(secret, /^krsk_live_/)
  await visit.store()
  await visit.heading('Open your workspace')
  await visit.text('Keyrail cannot be reached.')
  await visit.look('new-workspace-not-opened')
  await visit.assertForgotten(secret)

  await page.unrouteAll({ behavior: 'wait' })
  await visit.press('Try again')
  await visit.heading('Get started')
  await visit.leave()
})

test('a workspace that a script has made opens for a person who shows its secret key', async () => {
  const { ask, deps, query } = stage.harness
  const body = { name: 'Scripted', slug: 'scripted' }
  const made = await ask('POST', '/v1/workspaces', { token: deps.config.bootstrapToken ?? '', body })
  const secret: string = made.body.secret_key.key
  const visit = await stage.visit('/app/', { as: await makePerson(query, { name: 'Cem' }) })
  await visit.heading('Create your workspace')
  await visit.page.getByRole('link', { name: 'I have a secret key' }).click()
  await visit.heading('Open a workspace by its secret key')
  await visit.look('adopt-workspace')
  await visit.fill('Secret key', `${secret.slice(0, -1)}x`)
  await visit.press('Open workspace')
  await visit.text('No active secret key has this text.')
  await visit.look('adopt-workspace-fault')
  await visit.fill('Secret key', ` ${secret} `)
  await visit.press('Open workspace')
  await visit.heading('Get started')
  await visit.text('Scripted')
  await visit.assertForgotten(secret)
  await visit.leave()

  const late = await stage.visit('/app/workspaces/adopt', { as: await makePerson(query, { name: 'Dan' }) })
  await late.fill('Secret key', secret)
  await late.press('Open workspace')
  await late.text('The workspace has members. Ask one of its owners for an invitation.')
  await late.leave()
})
