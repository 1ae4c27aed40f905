import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { makeFleet } from '../../server/test/usage-fleet.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness

/** The figures at the top, by their label. */
const figureOf = (page: Page, label: string) =>
  page.locator('dt', { hasText: label }).locator('xpath=following-sibling::dd').textContent()

test('a person sees the state of the workspace and what needs attention, live and test', async () => {
  const fleet = await makeFleet(stage.harness)
  const { workspaceId, live, projectId } = fleet
  const [{ now }] = await query('select service_now() as now')
  const in5Days = new Date(now.getTime() + 5 * 86_400_000).toISOString()
  const used = await fleet.newKey({ name: 'Shop' })
  const trial = await fleet.newKey({ name: 'Trial', env: 'test' })
  await issueKey(stage.harness, fleet, { name: 'Soon over', expires_at: in5Days })
  const idle = await fleet.newKey({ name: 'Forgotten', expires_at: '2099-01-01T00:00:00Z' })
  await query(
    `update api_keys set created_at = created_at - interval '200 days', idle_since = service_now() - interval '100 days',
       last_used_at = service_now() - interval '100 days' where id = $1`,
    [idle],
  )
  await fleet.report([
    { key_id: used, hour: now.toISOString(), count: 1_250 },
    { key_id: trial, hour: now.toISOString(), count: 7 },
  ])
  const [{ version }] = await query(
    'select version::int from policy_heads where workspace_id = $1 and project_id = $2',
    [workspaceId, projectId],
  )
  for (const [node, since, held] of [
    ['api-1', version, '&held_keys=37500&held_keys_max=38000'],
    ['api-2', version - 1, ''],
  ])
    await ask('GET', `/v1/policy/delta?project_id=${projectId}&since=${since}&node=${node}${held}`, {
      token: live,
    })

  const refuse = (reason: string, count: number) => ({ hour: now.toISOString(), reason, count })
  await ask('POST', '/v1/usage/refusals', {
    token: live,
    body: {
      report_id: randomUUID(),
      project_id: projectId,
      records: [refuse('rate_limited', 12_345), refuse('revoked_key', 3), refuse('unknown_key', 72)],
    },
  })

  const person = await makePerson(query, { workspaceId, verified: false, name: 'Ann' })
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  await visit.text('1 key expires within 14 days')
  assert.equal(await figureOf(page, 'Active keys'), '3in live')
  assert.match((await figureOf(page, 'Requests')) ?? '', /^1,250/)
  assert.equal(await figureOf(page, 'Nodes current'), '1 of 21 behind')
  assert.match((await figureOf(page, 'Billable tenants')) ?? '', /^1this month/)
  await visit.text('Your e-mail address is not verified')
  await visit.text('1 key was not used for 90 days')
  await visit.text('1 key never expires')
  await visit.text('1 node is behind')
  await visit.text('1 node is nearly full')
  await visit.text('37,500 of 38,000 keys. Beyond these it refuses keys, and its next start fails')
  assert.equal(await page.getByRole('figure', { name: 'Requests a day' }).getByRole('row').count(), 30)
  await page
    .getByRole('region', { name: 'Newest rows of the audit log' })
    .getByText('Key created')
    .first()
    .waitFor()
  const top = (title: string) => page.locator('section', { hasText: title }).getByRole('listitem')
  await top('Top keys, 30 days').getByRole('link', { name: 'Shop' }).waitFor()
  assert.deepEqual(await top('Top tenants, 30 days').count(), 1)
  assert.match((await top('Top tenants, 30 days').textContent()) ?? '', /1,250$/)
  await page.locator('section', { hasText: 'Refused requests, 30 days' }).getByText('72').waitFor()
  assert.deepEqual(
    await page
      .locator('section', { hasText: 'Refused requests, 30 days' })
      .locator('dl > div')
      .allTextContents(),
    ['Over the limit12,345', 'Unknown key72', 'Revoked key3'],
  )
  assert.equal(
    await page.getByRole('link', { name: 'Revoked key' }).getAttribute('href'),
    '/app/keys?status=revoked',
  )
  await visit.look('overview')
  assert.equal(
    await page.getByRole('link', { name: 'Forgotten', exact: true }).getAttribute('href'),
    `/app/keys/${idle}`,
  )
  await page.getByRole('radiogroup', { name: 'Environment' }).getByText('Test', { exact: true }).click()
  await visit.text('this month, live only')
  assert.match((await figureOf(page, 'Requests')) ?? '', /^7/)
  await visit.text('No node has reported a refused request.')
  await page.getByRole('link', { name: 'Open the audit log' }).click()
  await visit.heading('Audit log')
  assert.match(page.url(), /audit-log\?env=test$/)
  await visit.leave()
})

test('an empty workspace leads to the first steps, and a failed overview says why', async () => {
  const { workspaceId } = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId, role: 'owner', name: 'Bea' })
  const visit = await stage.visit('/app/?env=test', { as: person })
  const { page } = visit
  await visit.text('No keys in the test environment yet')
  await page.context().setOffline(true)
  await page.getByRole('radiogroup', { name: 'Environment' }).getByText('Live', { exact: true }).click()
  await visit.text('You are offline')
  await page.context().setOffline(false)
  await visit.text('No keys in the live environment yet')
  await visit.text('Nothing needs attention.')
  await visit.text('none connected')
  await visit.look('overview-empty')
  await page.route('**/v1/overview?*', route =>
    route.fulfill({
      status: 500,
      contentType: 'application/problem+json',
      body: JSON.stringify({
        type: 'https://keys.example/errors/internal_error',
        title: 'Internal error',
        status: 500,
        detail: 'the service failed',
        code: 'internal_error',
        request_id: 'req_overview',
      }),
    }),
  )
  await page.reload()
  await visit.text('req_overview')
  await visit.look('overview-failed')
  await page.unroute('**/v1/overview?*')
  await visit.press('Try again')
  await visit.text('No keys in the live environment yet')
  await page.getByRole('link', { name: 'Get started' }).first().click()
  await page.waitForURL('**/app/get-started')
  await visit.leave()
})
