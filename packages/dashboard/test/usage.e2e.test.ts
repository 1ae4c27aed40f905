import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeFleet } from '../../server/test/usage-fleet.ts'
import { makeProject, makeVendor } from '../../server/test/vendor.ts'
import { csvOf } from '../src/screens/usage/csv.ts'
import { monthsBefore } from '../src/screens/usage/months.ts'
import { insertTenants } from './many.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness

test('a person reads who made the requests of a month, and downloads them', async () => {
  const fleet = await makeFleet(stage.harness)
  const { workspaceId, tenantId, projectId, live } = fleet
  const { body: tenant } = await ask('PATCH', `/v1/tenants/${tenantId}`, {
    token: live,
    body: { name: '=Globex, "Inc"' },
  })
  const [{ now }] = await query('select service_now() as now')
  const months = monthsBefore(now)
  const hour = now.toISOString()
  await fleet.report([{ key_id: await fleet.newKey(), hour, count: 1_250 }])
  await fleet.report([{ key_id: await fleet.newKey({ env: 'test' }), hour, count: 4 }], { rate: 0.5 })
  // More rows of this month than a page has stand before those of two months ago.
  await query(
    `insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
     select $1, $2::date, gen_random_uuid(), $3, 'live', 3 from generate_series(1, 210)`,
    [workspaceId, months[0], projectId],
  )
  await query(
    `insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
     values ($1, $2::date, $3, $4, 'live', 77)`,
    [workspaceId, months[2], tenantId, projectId],
  )
  const person = await makePerson(query, { workspaceId, name: 'Ann' })
  const visit = await stage.visit('/app/usage', { as: person })
  const { page } = visit
  const rows = page.locator('section[aria-label="Requests of the month"] tbody tr')
  await visit.press('Load more')
  await rows.nth(210).waitFor()
  await page.getByRole('row', { name: /^=Globex, "Inc" Payments Live 1,250$/ }).waitFor()
  const billed = page.getByRole('figure', { name: 'Billable tenants a month' }).getByRole('row')
  assert.equal(await billed.count(), 12)
  await page.getByRole('combobox', { name: 'Month' }).selectOption(String(months[2]).slice(0, 7))
  await page.getByRole('row', { name: /^=Globex, "Inc" Payments Live 77$/ }).waitFor()
  assert.equal(await rows.count(), 1)
  await page.waitForURL(`**/app/usage?month=${String(months[2]).slice(0, 7)}`)
  await visit.look('usage')
  const [file] = await Promise.all([page.waitForEvent('download'), visit.press('Download CSV')])
  const month = String(months[2]).slice(0, 7)
  assert.equal(file.suggestedFilename(), `usage-${month}-live.csv`)
  assert.equal(
    readFileSync(await file.path(), 'utf8'),
    `\u{feff}month,tenant_id,your_id,tenant,project_id,project,env,requests,estimated\r\n${month},${tenantId},${tenant.external_id},"'=Globex, ""Inc""",${projectId},Payments,live,77,false\r\n`,
  )
  await visit.text(`1 row is in usage-${month}-live.csv.`)
  await page.getByRole('combobox', { name: 'Month' }).selectOption(String(months[0]).slice(0, 7))
  await page.getByRole('radiogroup', { name: 'Environment' }).getByText('Test', { exact: true }).click()
  await page.getByRole('row', { name: /^=Globex, "Inc" Payments Test ≈ 8$/ }).waitFor()
  assert.equal(await rows.count(), 1)
  await visit.leave()
})

test('a person reads the requests of each day, by project, tenant and key', async () => {
  const fleet = await makeFleet(stage.harness)
  const { workspaceId, tenantId } = fleet
  const other = await makeProject(stage.harness, fleet)
  await ask('PATCH', `/v1/projects/${other.id}`, { token: fleet.live, body: { name: 'Geocoding' } })
  const [{ now }] = await query('select service_now() as now')
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString()
  const shop = await fleet.newKey({ name: 'Shop' })
  const maps = await fleet.newKey({ name: 'Maps', project_id: other.id, tenant_id: await fleet.newTenant() })
  await fleet.newKey({ name: 'Trial', env: 'test' })
  await fleet.report([
    { key_id: shop, hour: daysAgo(0), count: 1_000 },
    { key_id: shop, hour: daysAgo(1), count: 200 },
    { key_id: maps, hour: daysAgo(0), count: 30 },
  ])
  const person = await makePerson(query, { workspaceId, name: 'Eve' })
  const visit = await stage.visit(`/app/usage?tenant=${tenantId}`, { as: person })
  const { page } = visit
  const days = page.getByRole('figure', { name: 'Requests a day' }).getByRole('row')
  const choose = async (by: string, option: string) => {
    await page.getByRole('combobox', { name: by, exact: true }).click()
    await page.getByRole('option', { name: option }).click()
  }
  await visit.text('1,200 requests in 30 days')
  await choose('By tenant', 'Every tenant')
  await visit.text('1,230 requests in 30 days')
  await page.waitForURL('**/app/usage')
  await choose('By project', 'Geocoding')
  await visit.text('30 requests in 30 days')
  await choose('By project', 'Every project')
  await choose('By key', 'Shop')
  await visit.text('1,200 requests in 30 days')
  await page.waitForURL(`**/app/usage?key=${shop}`)
  await page.getByRole('radiogroup', { name: 'Days' }).getByText('90 days').click()
  await visit.text('1,200 requests in 90 days')
  assert.equal(await days.count(), 90)
  await page.reload()
  await visit.text('1,200 requests in 90 days')
  assert.match(await page.getByRole('combobox', { name: 'By key', exact: true }).inputValue(), /^Shop/)
  await visit.look('usage-days')
  await page.getByRole('combobox', { name: 'By key', exact: true }).click()
  assert.deepEqual(
    await page
      .getByRole('option')
      .filter({ hasText: /^Trial/ })
      .count(),
    0,
  )
  await choose('By project', 'Geocoding')
  await visit.text('30 requests in 90 days')
  await visit.leave()
})

test('a download reads the names of its rows alone, says how far it is, and can be stopped', async () => {
  const { workspaceId, projectId } = await makeVendor(stage.harness)
  const [month] = monthsBefore((await query('select service_now() as now'))[0].now)
  // As many tenants made no request.
  await insertTenants(stage.harness, { workspaceId }, 500)
  await query(
    `insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
     select $1, $2::date, id, $3, 'live', 3 from tenants
     where workspace_id = $1 and name like 'Tenant %' order by name limit 250`,
    [workspaceId, month, projectId],
  )
  const person = await makePerson(query, { workspaceId, name: 'Cyd' })
  const visit = await stage.visit('/app/usage', { as: person })
  const { page } = visit
  await visit.press('Load more')
  await page.getByText('Tenant 1', { exact: true }).waitFor()

  let second = Promise.withResolvers<void>()
  await page.route(/usage\/tenants\?.*cursor=/, async route => {
    await second.promise
    await route.continue().catch(() => {})
  })
  await visit.press('Download CSV')
  await visit.text('Reading the month: 200 rows so far…')
  await visit.look('usage-download')
  await visit.press('Stop')
  await page.getByText('rows so far').waitFor({ state: 'detached' })
  second.resolve()

  second = Promise.withResolvers<void>()
  const asked: URL[] = []
  page.on('request', request => asked.push(new URL(request.url())))
  await visit.press('Download CSV')
  await visit.text('Reading the month: 200 rows so far…')
  const [file] = await Promise.all([page.waitForEvent('download'), second.resolve()])
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\r\n')
  assert.equal(lines.length, 251)
  assert.ok(
    lines.slice(1).every(line => /,Tenant \d+,/.test(line)),
    lines.find(line => !/,Tenant \d+,/.test(line)),
  )
  await visit.text(`250 rows are in ${file.suggestedFilename()}.`)
  const named = asked.filter(({ pathname }) => pathname === '/v1/tenants')
  assert.ok(named.length > 0)
  for (const { search, searchParams } of named) assert.ok(searchParams.has('ids'), search)
  await visit.leave()
})

test('a download that fails says why, and starts again', async () => {
  const { workspaceId } = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId, name: 'Dan' })
  const visit = await stage.visit('/app/usage', { as: person })
  await visit.text('No live requests in')
  await visit.page.route('**/v1/usage/tenants?*', route => route.abort())
  await visit.press('Download CSV')
  await visit.text('Keyrail cannot be reached.')
  await visit.page.unrouteAll({ behavior: 'wait' })
  const [file] = await Promise.all([visit.page.waitForEvent('download'), visit.press('Try again')])
  await visit.text(`0 rows are in ${file.suggestedFilename()}.`)
  await visit.leave()
})

test('a month without requests says how they come about', async () => {
  const { workspaceId } = await makeVendor(stage.harness)
  const person = await makePerson(query, { workspaceId, name: 'Bea' })
  const visit = await stage.visit('/app/usage?env=test', { as: person })
  await visit.text('No test requests in')
  await visit.look('usage-empty')
  await visit.leave()
})

test('a cell of a file that reads like a formula stays a text', () => {
  assert.equal(csvOf([['=1+1', '@a', 'a"b', 'a,b', 'plain', -5]]), `'=1+1,'@a,"a""b","a,b",plain,-5\r\n`)
})

test('months go back from this one, across a year', () => {
  const months = monthsBefore(new Date('2027-01-31T23:59:59Z'))
  assert.deepEqual([months.length, ...months.slice(0, 3)], [24, '2027-01-01', '2026-12-01', '2026-11-01'])
})
