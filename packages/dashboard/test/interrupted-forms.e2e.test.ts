import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { makeForms } from './forms.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query } = harness
const vendor = await makeVendor(harness)
const { projectId, tenantId } = vendor
const forms = await makeForms(harness, vendor)

/** From now on the page knows the form as `typedForm`. */
const markForm = (page: Page, submit: string) =>
  page.evaluate(
    `void (window.typedForm = [...document.forms].find(one => [...one.elements].some(({ textContent }) => textContent === ${JSON.stringify(submit)})))`,
  )
/** What each field of the form holds, while it is still the same one. */
async function valuesOf(page: Page): Promise<readonly unknown[]> {
  const values = await page.evaluate(
    `typedForm.isConnected && [...typedForm.elements].filter(one => !/button|submit|fieldset/.test(one.type)).map(one => /checkbox|radio/.test(one.type) ? one.checked : one.value)`,
  )
  assert.ok(Array.isArray(values) && values.length > 0, 'the page has another form now')
  return values
}

const makeOwner = (workspaceId: string) => makePerson(query, { workspaceId, role: 'owner', name: 'Ann' })
const ann = await makeOwner(vendor.workspaceId)
// One profile for most forms: a browser that has the code of the pages already opens them faster.
const shared = await stage.visit('/app/', { as: ann })

for (const { name, path, isAlone, workspaceId = vendor.workspaceId, isLate, type, submit, done } of forms) {
  test(`what is typed for ${name} stays, offline and over the end of the session`, async () => {
    const person = isAlone ? await makeOwner(workspaceId) : ann
    const visit = isAlone ? await stage.visit(path, { as: person }) : shared
    const { page } = visit
    if (!isAlone) await page.goto(path)
    await type(visit)
    const button = page.locator('form').getByRole('button', { name: submit, exact: true })
    await markForm(page, submit)
    const typed = await valuesOf(page)
    await page.context().setOffline(true)
    await button.click()
    await visit.text('Keyrail cannot be reached.')
    assert.deepEqual(await valuesOf(page), typed)
    await query('update sessions set ended_at = service_now() where user_id = $1', [person.userId])
    await page.context().setOffline(false)

    // As Enter does: what the page reads meanwhile may have asked for the sign-in already.
    if (!isLate) await page.evaluate('typedForm.requestSubmit()')
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.getByLabel('Password', { exact: true }).fill(madePassword)
    assert.deepEqual(await valuesOf(page), typed)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    if (isLate) await button.click()
    await visit.text(done)
    if (isAlone) await visit.leave()
  })
}

test('what is typed stays while the service starts again', async () => {
  await shared.leave()
  const visit = await stage.visit(`/app/keys?project=${projectId}&tenant=${tenantId}`, {
    as: await makeOwner(vendor.workspaceId),
  })
  await visit.press('Create key')
  await visit.fill('Name (optional)', 'Through a restart')
  await visit.fill('Metadata (optional)', '{ "plan": "pro" }')
  const button = visit.page.locator('form').getByRole('button', { name: 'Create key', exact: true })
  await stage.restart(async () => {
    await button.click()
    await visit.text('Keyrail cannot be reached.')
  })
  await button.click()
  await visit.text('Your new live key')
  const stored = await query('select meta from api_keys where name = $1', ['Through a restart'])
  assert.deepEqual(stored, [{ meta: { plan: 'pro' } }])
  await visit.leave()
})
