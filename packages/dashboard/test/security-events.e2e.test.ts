import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query, deps } = stage.harness
const acme = await makeVendor(stage.harness)
const { workspaceId } = acme
const ann = await makePerson(query, { workspaceId, role: 'owner', name: 'Ann', email: 'ann@example.com' })
const cyd = await makePerson(query, { workspaceId, role: 'member', name: 'Cyd', email: 'cyd@example.com' })
// The clock of the harness stands still, and what happened before a person joined is not shown.
await query(`update workspace_members set joined_at = joined_at - interval '1 day'`)
await ask('POST', '/v1/auth/sessions', { body: { email: cyd.email, password: 'not the right password' } })
await ask('POST', '/v1/projects', { token: cyd.token, body: {} })
await deps.securityEvents.flush()

test('an owner reads the events of the workspace by kind, person and date', async () => {
  const visit = await stage.visit('/app/security-events', { as: ann })
  const { page } = visit
  const shown = (text: string) => page.getByRole('table').getByText(text)
  await shown('Refused: not permitted').waitFor()
  await shown('Sign-in failed').waitFor()
  await visit.look('security-events')
  await page.getByLabel('Kind').selectOption({ label: 'Sign-in failed' })
  await shown('Refused: not permitted').waitFor({ state: 'detached' })
  await page.getByLabel('Person').selectOption({ label: 'Ann' })
  await visit.text('Nothing matches these filters.')
  await page.getByLabel('Person').selectOption({ label: 'Cyd' })
  await shown('Sign-in failed').waitFor()
  await page.getByLabel('To', { exact: true }).fill('2020-01-31')
  await visit.text('Nothing matches these filters.')
  assert.match(page.url(), /kind=sign_in_failed&user_id=[0-9a-f-]{36}&to=2020-01-31$/)
  await visit.press('Clear filters')
  await shown('Refused: not permitted').waitFor()
  await visit.leave()
})

test('a member reads the events of the account, and no filter of others', async () => {
  const visit = await stage.visit('/app/security-events', { as: cyd })
  await visit.page.getByRole('table').getByText('Sign-in failed').waitFor()
  assert.equal(await visit.page.getByLabel('Person').count(), 0)
  await visit.text('An owner also sees the events of the workspace.')
  await visit.look('own-security-events')
  await visit.leave()
})
