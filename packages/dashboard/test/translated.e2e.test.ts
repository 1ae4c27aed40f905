import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const vendor = await makeVendor(harness)
for (const name of ['Billing', 'Shipping']) await issueKey(harness, vendor, { name })
const as = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Ann' })

/** What translators make of a text: two elements around it, or around another text in its place. */
const ways = {
  wraps: 'font.firstChild.append(text.cloneNode()); text.before(font); font.firstChild.replaceChildren(text)',
  replaces: `font.firstChild.textContent = text.data.toUpperCase(); text.replaceWith(font)`,
  'inserts and removes': `font.firstChild.textContent = text.data.toUpperCase(); text.before(font); text.remove()`,
}

const translate = (page: Page, way: string) =>
  page.evaluate(`(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const texts = []
    while (walker.nextNode()) texts.push(walker.currentNode)
    for (const text of texts) {
      if (text.data.trim() === '' || /^(SCRIPT|STYLE|FONT)$/.test(text.parentNode.nodeName)) continue
      const font = document.createElement('font')
      font.append(document.createElement('font'))
      ${way}
    }
  })()`)

for (const [name, way] of Object.entries(ways))
  test(`a page that a browser translates (${name}) goes on: screens, environments, dialogs`, async () => {
    const visit = await stage.visit('/app/keys', { as })
    const { page } = visit
    await page.getByRole('link', { name: 'Billing' }).first().waitFor()
    await translate(page, way)
    await page
      .locator('label')
      .filter({ hasText: /^test$/i })
      .first()
      .click()
    await page.getByText('Test environment').waitFor()
    await translate(page, way)
    await page
      .locator('label')
      .filter({ hasText: /^live$/i })
      .first()
      .click()
    await page.getByText(/^test environment$/i).waitFor({ state: 'detached' })
    await translate(page, way)
    await page
      .getByRole('link', { name: /^tenants$/i })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'Tenants' }).waitFor()
    await translate(page, way)
    await page
      .getByRole('link', { name: /^overview$/i })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await translate(page, way)
    await page.goBack()
    await page.goBack()
    await page.getByRole('link', { name: 'Billing' }).first().waitFor()
    await translate(page, way)
    await page
      .getByRole('link', { name: /^billing$/i })
      .first()
      .click()
    await page.getByRole('button', { name: 'Rotate key' }).click()
    await translate(page, way)
    await page.getByText(/^1 hour$/i).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await page.getByText('Something went wrong').count(), 0)
    await visit.leave()
  })
