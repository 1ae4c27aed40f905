import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { makeForms } from './forms.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query } = harness
const vendor = await makeVendor(harness)
const forms = await makeForms(harness, vendor)

/** What a form makes, and what the page says when the answer was lost: its usual words, unless they come with a secret. */
const makes: Readonly<Record<string, { readonly table: string; readonly lost?: string }>> = {
  'the first project': { table: 'projects' },
  'the first tenant': { table: 'tenants' },
  'a new project': { table: 'projects' },
  'a new tenant': { table: 'tenants' },
  'a new key': { table: 'api_keys', lost: 'Rotate it on its page' },
  'a rotation': { table: 'api_keys', lost: 'Rotate it on its page' },
  'an invitation': { table: 'workspace_invites', lost: 'choose “Resend” in the list' },
  'a new secret key': { table: 'secret_keys', lost: 'Rotate it in the list' },
  'the rotation of a secret key': { table: 'secret_keys', lost: 'Rotate it in the list' },
  'a new workspace': { table: 'workspaces', lost: 'The workspace is ready.' },
}
const making = forms.filter(({ name }) => name in makes)
assert.equal(making.length, Object.keys(makes).length, 'a form has another name now')

const idsOf = async (table: string) =>
  new Set((await query(`select id from ${table}`)).map(({ id }) => String(id)))

/** The service answers the next change, and the page does not get the answer. */
async function loseAnswer(page: Page): Promise<void> {
  let isLost = false
  await page.route('**/v1/**', async route => {
    if (isLost || route.request().method() !== 'POST') return route.fallback()
    isLost = true
    const answer = await route.fetch()
    assert.ok(answer.ok(), await answer.text())
    await route.abort()
  })
}

for (const { name, path, workspaceId = vendor.workspaceId, type, submit, done } of making) {
  const { table = '', lost } = makes[name] ?? {}
  test(`${name} is made once when its answer is lost and the person presses again`, async () => {
    const person = await makePerson(query, { workspaceId, role: 'owner', name: 'Ann' })
    const visit = await stage.visit(path, { as: person })
    await type(visit)
    const before = await idsOf(table)
    await loseAnswer(visit.page)
    const button = visit.page.locator('form').getByRole('button', { name: submit, exact: true })
    await button.click()
    await visit.text('Keyrail cannot be reached.')
    await button.click()
    await visit.text(lost ?? done)
    const made = (await idsOf(table)).difference(before)
    assert.equal(made.size, 1)
    if (lost === undefined) return await visit.leave()

    await visit.text('cannot show it again')
    if (name === 'a new key') await visit.look('secret-lost')
    await visit.page.getByRole('dialog').getByText('Close', { exact: true }).click()
    // Where a key that the person has not seen can be rotated.
    if (table === 'api_keys') await visit.page.waitForURL(`**/keys/${[...made][0]}`)
    else await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
    await visit.leave()
  })
}

test('another change after a lost answer is sent as another one', async () => {
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Ann' })
  const visit = await stage.visit('/app/settings/secret-keys', { as: person })
  await visit.press('Create secret key')
  await visit.fill('Name', 'Lost')
  await visit.page.getByLabel('Expires').selectOption('30')
  await loseAnswer(visit.page)
  await visit.press('Create')
  await visit.text('Keyrail cannot be reached.')
  await visit.fill('Name', 'Another')
  await visit.press('Create')
  await visit.text('Copy the secret key now.')
  await visit.page.getByLabel('I have stored it').check()
  await visit.press('Done')

  // The same again, in a dialog that was opened again, is a new one too.
  await visit.press('Create secret key')
  await visit.fill('Name', 'Another')
  await visit.press('Create')
  await visit.text('Copy the secret key now.')
  const rows = await query(
    `select name from secret_keys where name in ('Lost', 'Another') order by created_at`,
  )
  assert.deepEqual(
    rows.map(row => row.name),
    ['Lost', 'Another', 'Another'],
  )
  await visit.leave()
})

test('a key that expires after some days is made once, although the clock goes on', async () => {
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Ann' })
  const visit = await stage.visit('/app/settings/secret-keys', { as: person, now: new Date() })
  await visit.press('Create secret key')
  await visit.fill('Name', 'For a month')
  await visit.page.getByLabel('Expires').selectOption('30')
  await loseAnswer(visit.page)
  await visit.press('Create')
  await visit.text('Keyrail cannot be reached.')
  await visit.page.clock.setFixedTime(new Date(Date.now() + 60_000))
  await visit.press('Create')
  await visit.text('cannot show it again')
  assert.equal((await query('select 1 from secret_keys where name = $1', ['For a month'])).length, 1)
  await visit.leave()
})
