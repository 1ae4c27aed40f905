import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()

test('Tab leaves a field that then shows its fault', async () => {
  const { workspaceId } = await makeVendor(stage.harness)
  const person = await makePerson(stage.harness.query, { workspaceId, role: 'owner', name: 'Ann' })
  const visit = await stage.visit('/app/audit-log', { as: person })
  const { page } = visit
  const field = page.getByLabel('Target id', { exact: true })
  await field.fill('no id')
  await page.keyboard.press('Shift+Tab')
  await visit.text('This is not a whole id.')
  await page
    .locator('input:focus')
    .and(page.getByRole('combobox', { name: 'Actor' }))
    .waitFor()
  await visit.leave()
})
