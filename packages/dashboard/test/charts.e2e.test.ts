import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeFleet } from '../../server/test/usage-fleet.ts'
import { dayName } from '../src/components/dates.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query } = stage.harness

/** A key with requests of today and of two days ago, and a person who looks at its page. */
async function openKey() {
  const fleet = await makeFleet(stage.harness)
  const [{ now }] = await query('select service_now() as now')
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
  const key = await fleet.newKey({ name: 'Shop' })
  await fleet.report([
    { key_id: key, hour: daysAgo(0), count: 1_204 },
    { key_id: key, hour: daysAgo(2), count: 600 },
  ])
  const person = await makePerson(query, { workspaceId: fleet.workspaceId, name: 'Ann' })
  const visit = await stage.visit(`/app/keys/${key}`, { as: person })
  const chart = visit.page.getByRole('figure', { name: 'Requests a day' })
  await chart.waitFor()
  return { visit, chart, day: (days: number) => dayName(daysAgo(days)) }
}

test('a chart has a scale, and a bar says its day and its value below the pointer', async () => {
  const { visit, chart, day } = await openKey()
  const { page } = visit
  for (const text of ['1,500', '750', '0', day(29), day(0)])
    await chart.locator('[aria-hidden]').getByText(text, { exact: true }).waitFor()
  await chart.scrollIntoViewIfNeeded()
  const { x, y, width, height } = (await chart.locator('svg').boundingBox()) ?? assert.fail('no drawing')
  const pointTo = (daysAgo: number) => page.mouse.move(x + (width * (29.5 - daysAgo)) / 30, y + height / 2)
  const shown = (text: string) => chart.getByText(text, { exact: true }).filter({ visible: true })
  for (const [daysAgo, value] of [
    [0, '1,204'],
    [2, '600'],
  ] as const) {
    await pointTo(daysAgo)
    await chart.locator('strong').getByText(value, { exact: true }).waitFor()
    await shown(day(daysAgo)).first().waitFor()
    const box = (await chart.locator('strong').boundingBox()) ?? assert.fail('no value')
    assert.ok(box.x > 0 && box.x + box.width < 1_280, 'the value stands beside the page')
  }
  await visit.look('chart-pointer')
  await page.keyboard.press('Escape')
  await pointTo(1)
  await page.mouse.move(1, 1)
  await chart.locator('strong').waitFor({ state: 'hidden' })
  await visit.leave()
})

test('with the keyboard a chart is one stop, and arrow keys go from bar to bar', async () => {
  const { visit, chart, day } = await openKey()
  const { page } = visit
  const cursor = chart.getByRole('slider', { name: 'Requests a day, bar by bar' })
  const isAt = async (daysAgo: number, value: string) => {
    const text = `${day(daysAgo)}: ${value}`
    await chart.locator(`[aria-valuetext="${text}"]`).waitFor()
    await chart.locator('strong').getByText(value, { exact: true }).waitFor()
    assert.match(await chart.ariaSnapshot(), /slider "Requests a day, bar by bar"/)
  }
  await page.getByRole('radio', { name: '30 days' }).focus()
  await page.keyboard.press('Tab')
  await cursor.and(page.locator(':focus')).waitFor()
  await isAt(0, '1,204')
  await page.keyboard.press('ArrowRight')
  await isAt(0, '1,204')
  await page.keyboard.press('ArrowLeft')
  await isAt(1, '0')
  await page.keyboard.press('ArrowLeft')
  await isAt(2, '600')
  await visit.look('chart-keyboard')
  const scrolled = await page.evaluate('scrollY')
  await page.keyboard.press('Home')
  await isAt(29, '0')
  assert.equal(await page.evaluate('scrollY'), scrolled)
  await page.keyboard.press('End')
  await isAt(0, '1,204')
  await page.keyboard.press('Escape')
  await chart.locator('strong').waitFor({ state: 'hidden' })
  await page.keyboard.press('Home')
  await isAt(29, '0')
  await page.keyboard.press('Shift+Tab')
  await chart.locator('strong').waitFor({ state: 'hidden' })
  assert.equal(await chart.locator(':focus').count(), 0)
  await visit.leave()
})

test('a tap chooses a bar on a phone, and a table has all values for those who do not see it', async () => {
  const { visit, chart, day } = await openKey()
  const { page } = visit
  await page.setViewportSize({ width: 375, height: 800 })
  await chart.scrollIntoViewIfNeeded()
  const drawing = (await chart.locator('svg').boundingBox()) ?? assert.fail('no drawing')
  await page.mouse.click(drawing.x + (drawing.width * 27.5) / 30, drawing.y + 10)
  await page.mouse.move(1, 1)
  await chart.locator('strong').getByText('600', { exact: true }).waitFor()
  await chart.getByRole('row', { name: `${day(2)} 600`, exact: true }).waitFor()
  assert.equal(await chart.getByRole('row').count(), 30)
  await visit.leave()
})
