import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

/** The last word of a text, as it stands on the screen from left to right. */
const lastWordSeen = (page: Page, selector: string) =>
  page.evaluate(`(() => {
    const element = document.querySelector('keyrail-keys').shadowRoot.querySelector('${selector}')
    const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    const seen = []
    while (nodes.nextNode()) {
      for (let at = 0; at < nodes.currentNode.data.length; at += 1) {
        const range = new Range()
        range.setStart(nodes.currentNode, at)
        range.setEnd(nodes.currentNode, at + 1)
        seen.push([range.getBoundingClientRect().left, nodes.currentNode.data[at]])
      }
    }
    const from = seen.findLastIndex(([, letter]) => /\\s/.test(letter)) + 1
    return seen.slice(from).sort(([one], [other]) => one - other).map(([, letter]) => letter).join('')
  })()`)

test('a name turns no word of a title or a button around, and accessible names are plain', async () => {
  const vendor = await stage.makeVendor()
  // Whatever follows the mark runs from right to left. Names from before may hold it.
  const name = 'Server \u202e1'
  const { id } = await makeKey(stage, vendor, 'Server')
  await stage.harness.query('update api_keys set name = $2 where id = $1', [id, name])
  // The German texts begin with the name.
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), lang: 'de' })
  const { page } = visit
  const title = 'dialog h3'
  await visit.button(`${name} ersetzen`).click()
  await page.getByRole('dialog', { name: `${name} ersetzen`, exact: true }).waitFor()
  assert.equal(await lastWordSeen(page, title), 'ersetzen')
  await visit.button('Abbrechen').click()
  await visit.button(`${name} widerrufen`).click()
  await page.getByRole('dialog', { name: `„${name}“ widerrufen?`, exact: true }).waitFor()
  assert.equal(await lastWordSeen(page, title), 'widerrufen?')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: `${name} widerrufen`, exact: true })
    .waitFor()
  assert.equal(await lastWordSeen(page, 'dialog [type=submit]'), 'widerrufen')
  await visit.leave()
})
