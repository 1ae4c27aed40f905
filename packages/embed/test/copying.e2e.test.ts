import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf, type Visit } from './stage.ts'

const stage = await openStage()

/** What a person pastes. */
async function pasted(page: Page): Promise<string> {
  await page.evaluate(`document.body.append(document.createElement('input'))`)
  await page.locator('body > input').focus()
  await page.keyboard.press('Control+V')
  return await page.locator('body > input').inputValue()
}

const secretIn = async (page: Page | Frame) => String(await page.locator('dialog code.secret').textContent())

/** Leaves the dialog of a new key, behind which nothing of the page can be used. */
async function store({ page, button }: Visit): Promise<void> {
  await page.getByLabel('I have stored it').check()
  await button('Done').click()
}

test('on a page without HTTPS, where browsers have no clipboard to write to, a key is copied', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
  await begin(visit)
  await submit(visit)
  await isMade(visit)
  const secret = await secretIn(page)
  await visit.button('Copy key').click()
  await page.getByText('Copied', { exact: true }).waitFor()
  await store(visit)
  assert.equal(await pasted(page), secret)
  await visit.leave()
})

test('in a frame of another site, which may not write to the clipboard, a key is copied', async () => {
  const vendor = await stage.makeVendor()
  const inner = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const address = inner.page.url()
  await inner.leave()
  // To a browser, an address is another site than a name.
  const outer = stage.site.replace('localhost', '127.0.0.1')
  const page = await stage.newPage()
  await page.goto(`${outer}/frame`)
  await page.setContent(
    `<h1>Portal</h1><iframe src="${address}" title="Keys" width="600" height="600"></iframe>`,
  )
  const inside = page.frameLocator('iframe')
  await inside.getByRole('button', { name: 'Create key' }).click()
  await inside.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await inside.getByText('Store the key now').waitFor()
  const frame = page.frames().at(-1) ?? assert.fail()
  const secret = await secretIn(frame)
  const denied = `navigator.clipboard.writeText('').then(() => 'written', error => error.name)`
  assert.equal(await frame.evaluate(denied), 'NotAllowedError')
  await inside.getByRole('button', { name: 'Copy key' }).click()
  await inside.getByText('Copied', { exact: true }).waitFor()
  assert.equal(await pasted(page), secret)
  await page.context().close()
})

test('in a frame, the whole life of a key works, and a key that cannot be copied is selected', async () => {
  const vendor = await stage.makeVendor()
  const inner = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const address = inner.page.url()
  await inner.leave()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    body: `<iframe src="${address}" title="Keys" width="360" height="600"></iframe>`,
    script: '',
  })
  const frame = visit.page.frameLocator('iframe')
  await frame.getByRole('button', { name: 'Create key' }).click()
  await frame.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  const secret = await frame.locator('dialog code').textContent()
  const inside = visit.page.frames().at(-1)
  await inside?.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
    document.execCommand = () => false`)
  await frame.getByRole('button', { name: 'Copy key' }).click()
  await frame.getByText('Copy the selected text.').waitFor()
  assert.equal(String(await inside?.evaluate('String(getSelection())')).trim(), secret)
  await frame.getByLabel('I have stored it').check()
  await frame.getByRole('button', { name: 'Done' }).click()
  await frame.getByRole('button', { name: /^Revoke/ }).click()
  await frame
    .getByRole('dialog')
    .getByRole('button', { name: /^Revoke/ })
    .click()
  await frame.getByText('No keys yet').waitFor()
  await visit.leave()
})
