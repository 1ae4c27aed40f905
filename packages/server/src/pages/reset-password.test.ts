import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './test-stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness

const old = 'a long enough word'
const next = 'another long enough word'
const signUp = (email: string) => ask('POST', '/v1/auth/users', { body: { email, password: old } })
const signIn = async (email: string, password: string) =>
  (await ask('POST', '/v1/auth/sessions', { body: { email, password } })).status

/** Asks for a link on the page, as somebody does who has forgotten. */
async function askForLink(email: string): Promise<string> {
  const visit = await stage.visit('/reset-password')
  await visit.heading('Forgot your password?')
  await visit.fill('E-mail address', email)
  await visit.press('Send a new link')
  await visit.heading('Look into your mailbox')
  await visit.leave()
  return await stage.linkTo(email, '/reset-password')
}

test('whoever has forgotten the password asks for a link and chooses a new one; all sessions end', async () => {
  await signUp('ann@example.com')
  assert.equal(await signIn('ann@example.com', old), 201)
  const visit = await stage.visit(await askForLink('ann@example.com'))
  await visit.fill('New password', next)
  await visit.fill('The new password once more', next)
  await visit.press('Change password')
  await visit.heading('Your password is changed')
  await visit.assertAccessible()
  await visit.leave()
  assert.deepEqual(await query('select 1 from sessions where ended_at is null'), [])
  assert.equal(await signIn('ann@example.com', old), 401)
  assert.equal(await signIn('ann@example.com', next), 201)
})

test('what is wrong with a password stands beside the field, and nothing of the link is used up by it', async () => {
  await signUp('bea@example.com')
  const visit = await stage.visit(await askForLink('bea@example.com'))
  const { keyboard } = visit.page
  await visit.fill('New password', 'short')
  await keyboard.press('Enter')
  await visit.text('A password needs at least 12 characters; this one has 5.')
  await visit.tabTo('New password')
  await visit.assertAccessible()

  await visit.fill('New password', 'leavemealone')
  await visit.fill('The new password once more', 'leavemealon')
  await keyboard.press('Enter')
  await visit.text('This is not the same password.')
  await visit.tabTo('The new password once more')

  await visit.fill('The new password once more', 'leavemealone')
  await keyboard.press('Enter')
  await visit.text('The password is a common password')

  await visit.fill('New password', 'bea@example.com')
  await visit.fill('The new password once more', 'bea@example.com')
  await keyboard.press('Enter')
  await visit.text('The password must not be the e-mail address')
  await visit.assertAccessible()

  await visit.fill('New password', next)
  await visit.fill('The new password once more', next)
  await keyboard.press('Enter')
  await visit.heading('Your password is changed')
  await visit.leave()
})

test('a password can be shown while it is typed, and is hidden before it is sent', async () => {
  const visit = await stage.visit('/reset-password#token=x.y')
  const kinds = () =>
    visit.page.evaluate(
      `[...document.querySelectorAll('#reset [autocomplete]')].map(({ type }) => type).join()`,
    )
  assert.equal(await kinds(), 'password,password')
  await visit.tabTo('Show password')
  await visit.page.keyboard.press('Space')
  assert.equal(await kinds(), 'text,text')
  await visit.press('Change password')
  assert.equal(await kinds(), 'password,password')
  await visit.leave()
})

test('a link works once, and leads to another when it is over', async () => {
  await signUp('cyd@example.com')
  const link = await askForLink('cyd@example.com')
  for (const title of ['Your password is changed', 'This link has been used or has expired']) {
    const visit = await stage.visit(link)
    await visit.fill('New password', next)
    await visit.fill('The new password once more', next)
    await visit.press('Change password')
    await visit.heading(title)
    if (title.startsWith('This')) {
      await visit.tabTo('Send a new link')
      await visit.assertAccessible()
    }
    await visit.leave()
  }
})

test('the page tells of an address without an account what it tells of one with', async () => {
  const visit = await stage.visit('/reset-password')
  await visit.fill('E-mail address', 'not an address')
  await visit.press('Send a new link')
  await visit.text('An e-mail address looks like')
  await visit.fill('E-mail address', 'nobody@example.com')
  await visit.press('Send a new link')
  await visit.heading('Look into your mailbox')
  await visit.text('If nobody@example.com has an account, a link is on its way.')
  await visit.leave()
})
