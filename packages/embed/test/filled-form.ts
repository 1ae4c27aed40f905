import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Visit } from './stage.ts'

/** Opens the dialog, and types. */
export async function begin({ page, button }: Visit): Promise<void> {
  await button('Create key').click()
  await page.getByLabel('Name').fill('Typed by hand')
  await page.getByLabel('refunds').check()
}
export async function assertKept(page: Page): Promise<void> {
  assert.equal(await page.getByLabel('Name').inputValue(), 'Typed by hand')
  assert.ok(await page.getByLabel('refunds').isChecked())
}
export const submit = ({ page }: Visit) =>
  page.getByRole('dialog').getByRole('button', { name: 'Create key', exact: true }).click()
export const isMade = ({ page }: Visit) => page.getByRole('dialog', { name: 'Store the key now' }).waitFor()
