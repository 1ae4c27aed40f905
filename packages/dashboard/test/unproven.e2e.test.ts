import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask } = stage.harness
const [squatted, password] = ['the word of a squatter', 'the word of the true owner']

/** Somebody signs up with an address that is not theirs, and makes a workspace. */
async function squat(email: string, slug: string): Promise<{ link: string; key: string }> {
  await ask('POST', '/v1/auth/users', { body: { email, password: squatted } })
  const link = await stage.linkTo(email, '/verify-email')
  const { token } = (await ask('POST', '/v1/auth/sessions', { body: { email, password: squatted } })).body
  const made = await ask('POST', '/v1/workspaces', { token, body: { name: 'Not yours', slug } })
  return { link, key: made.body.secret_key.key }
}
const works = async (key: string) => (await ask('GET', '/v1/workspace', { token: key })).status === 200

test('a person ends what the account made by somebody else, and decides about workspaces', async () => {
  const { link, key } = await squat('ann@example.com', 'squatted')
  const visit = await stage.visit(link)
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  const list = visit.page.getByRole('list', { name: 'What the account has made' })
  assert.match((await list.textContent()) ?? '', /Workspace squatted, with 1 secret key: just now/)
  assert.match((await list.textContent()) ?? '', /Sign-in from 127\.0\.0\.1/)
  await visit.look('verified-made')
  await visit.press('This was not me')
  await visit.heading('Take the account over')
  await visit.look('take-over')
  await visit.fill('New password', password)
  await visit.fill('Repeat the new password', password)
  await visit.press('End everything')
  await visit.heading('The account is yours now')
  assert.equal(await works(key), false)
  await visit.page.getByRole('link', { name: 'Sign in' }).click()
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', password)
  await visit.press('Sign in')
  await visit.heading('Are these workspaces yours?')
  await visit.look('unproven')
  await visit.press('Delete squatted')
  await visit.press('Delete workspace')
  await visit.heading('Create your workspace')
  await visit.leave()
})

test('a reset ends it too, and a workspace that its person keeps opens', async () => {
  await squat('bea@example.com', 'kept')
  await ask('POST', '/v1/auth/password_resets', { body: { email: 'bea@example.com' } })
  const visit = await stage.visit(await stage.linkTo('bea@example.com', '/reset-password'))
  await visit.fill('New password', password)
  await visit.fill('Repeat the new password', password)
  await visit.press('Change password')
  await visit.heading('The account is yours now')
  await visit.page.getByRole('link', { name: 'Sign in' }).click()
  await visit.fill('E-mail address', 'bea@example.com')
  await visit.fill('Password', password)
  await visit.press('Sign in')
  await visit.heading('Are these workspaces yours?')
  await visit.press('Keep kept')
  await visit.heading('Overview')
  await visit.leave()
})
