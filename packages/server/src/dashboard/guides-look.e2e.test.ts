import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeGuides } from '../../../dashboard/guides/write.ts'
import { makeBuild } from '../../test/dashboard-folder.ts'
import { openStage } from '../../test/page-stage.ts'
import { checkout } from '../../test/source-files.ts'

const folder = makeBuild()
writeGuides(checkout, folder)
const stage = await openStage({ dashboard: { folder } })

test('a reader searches the guides and opens the section that was found', async () => {
  const visit = await stage.visit('/guides')
  const { page } = visit
  await page.keyboard.press('/')
  await page.keyboard.type('overlap rotate')
  await page.locator('#found a').first().waitFor()
  await visit.assertAccessible()
  await page.getByRole('link', { name: /rotat/i }).first().click()
  await page.waitForURL(/\/guides\/[\w/-]+/)
  await page.goto('/guides/people')
  await page.getByRole('searchbox', { name: 'Search' }).fill('zzzz nothing')
  await visit.text('Nothing has these words.')
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('#found').textContent(), '')
  await visit.leave()
})

test('a reader chooses a language once, by keyboard, and sees every sample in it', async () => {
  const visit = await stage.visit('/guides/any-language')
  const { page } = visit
  const shown = () => page.locator('.tabs pre:visible').allTextContents()
  assert.match((await shown())[0] ?? '', /^curl /)
  await page.getByRole('radio', { name: 'curl' }).focus()
  await page.keyboard.press('ArrowRight')
  for (const text of await shown()) assert.match(text, /keyrail/i)
  assert.match((await shown())[0] ?? '', /keyrail\.Open/)
  assert.match((await shown())[1] ?? '', /go mod edit/)
  await page.getByText('Python', { exact: true }).first().click()
  assert.match((await shown())[1] ?? '', /pip install/)
  await visit.leave()
})

test('a page of an error leads to the catalogue, and the catalogue to the other guides', async () => {
  const visit = await stage.visit('/errors/not_found')
  await visit.text('Status 404.')
  await visit.page.getByRole('link', { name: 'All errors' }).click()
  await visit.page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
  assert.equal(
    await visit.page.getByRole('link', { name: 'Errors', exact: true }).getAttribute('aria-current'),
    'page',
  )
  await visit.leave()
})

test('guides are accessible, in light and dark, on small and large screens', async () => {
  for (const path of [
    '/guides',
    '/guides/getting-started',
    '/guides/any-language',
    '/guides/configuration',
    '/guides/dashboard',
    '/errors/not_found',
  ]) {
    const visit = await stage.visit(path)
    for (const [colorScheme, width] of [
      ['light', 320],
      ['dark', 320],
      ['light', 1_280],
      ['dark', 1_280],
    ] as const) {
      await visit.page.emulateMedia({ colorScheme })
      await visit.page.setViewportSize({ width, height: 800 })
      await visit.assertAccessible()
      if (process.env.LOOK)
        await visit.page.screenshot({
          path: `/tmp/look-${path.replaceAll('/', '_')}-${colorScheme}-${width}.png`,
        })
    }
    await visit.leave()
  }
})
