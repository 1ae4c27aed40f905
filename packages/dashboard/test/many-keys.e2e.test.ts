import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { insertKeys } from './many.ts'
import { openStage } from './stage.ts'

test('a list of 10,000 keys shows its first rows after one request, and more by one each', async () => {
  const stage = await openStage()
  const vendor = await makeVendor(stage.harness)
  await insertKeys(stage.harness, vendor, 10_000)
  const as = await makePerson(stage.harness.query, { workspaceId: vendor.workspaceId, name: 'Ann' })
  const visit = await stage.visit('/app/sign-in', { as })
  const { page } = visit
  const asked: string[] = []
  page.on('request', request => {
    const { pathname, search } = new URL(request.url())
    if (pathname === '/v1/keys') asked.push(search)
  })
  await page.goto('/app/keys')
  const rows = page.getByRole('region', { name: 'Keys' }).locator('tbody tr')
  await rows.nth(49).getByRole('link').waitFor()
  assert.equal(await rows.count(), 50)
  assert.equal(asked.length, 1, asked.join(' '))
  await visit.press('Load more')
  await rows.nth(99).getByRole('link').waitFor()
  assert.equal(await rows.count(), 100)
  assert.equal(asked.length, 2, asked.join(' '))
  assert.match(String(asked[1]), /[?&]cursor=/)

  // A search walks an index too.
  await visit.fill('Find keys', 'Key 9999')
  await rows.nth(1).waitFor({ state: 'detached' })
  assert.equal(await rows.count(), 1)
  await visit.leave()
})
