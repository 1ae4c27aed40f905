import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const vendor = await makeVendor(harness)
const key = await issueKey(harness, vendor, { name: 'Billing' })
await issueKey(harness, vendor, { name: 'Trial', env: 'test' })
await makeSecretKey(harness, vendor, { name: 'Server' })
await makeSecretKey(harness, vendor, { name: 'Staging', env: 'test' })

const showTest = ({ page }: Visit) =>
  page.getByRole('radiogroup', { name: 'Environment' }).getByText('Test', { exact: true }).click()

/** A screen of each kind: what it shows, what a person asks it for without a network, and the answer to that. */
const screens = [
  {
    kind: 'list',
    path: '/keys',
    shown: 'Billing',
    ask: showTest,
    answer: 'Trial',
  },
  {
    kind: 'detail',
    path: `/tenants/${vendor.tenantId}`,
    shown: 'Billing',
    ask: showTest,
    answer: 'Trial',
  },
  {
    kind: 'chart',
    path: `/keys/${key.id}`,
    shown: 'in 30 days',
    ask: ({ page }: Visit) =>
      page.getByRole('radiogroup', { name: 'Days' }).getByText('90 days', { exact: true }).click(),
    answer: 'in 90 days',
  },
  {
    kind: 'settings',
    path: '/settings/secret-keys',
    shown: 'Server',
    ask: showTest,
    answer: 'Staging',
  },
]

for (const { kind, path, shown, ask, answer } of screens) {
  test(`offline, a ${kind} stays, says so, and goes on by itself`, async () => {
    const as = await makePerson(harness.query, {
      workspaceId: vendor.workspaceId,
      role: 'owner',
      name: 'Ann',
    })
    const visit = await stage.visit(`/app${path}`, { as })
    const { page } = visit
    const main = page.locator('main')
    await main.getByText(shown).first().waitFor()
    const line = page.getByRole('status').filter({ hasText: 'You are offline.' })
    await page.context().setOffline(true)
    await line.waitFor()
    await main.getByText(shown).first().waitFor()
    await ask(visit)
    await visit.look(`offline-${kind}`)
    await page.context().setOffline(false)
    await line.waitFor({ state: 'detached' })
    await main.getByText(answer).first().waitFor()
    await visit.leave()
  })
}
