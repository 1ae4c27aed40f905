import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../server/test/embed.ts'
import { makePerson } from '../../server/test/people.ts'
import { until } from '../../server/test/until.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness
const acme = await makeVendor(stage.harness)
const { workspaceId, live, tenantId } = acme
const olga = await makePerson(query, { workspaceId, role: 'owner', name: 'Olga', email: 'olga@example.com' })
await ask('PATCH', `/v1/tenants/${tenantId}`, { token: live, body: { name: 'Globex' } })
const deploys = await makeSecretKey(stage.harness, acme, { name: 'Deploys' })
const key = await issueKey(stage.harness, { ...acme, live: deploys.key }, { name: 'By a server' })
const token = await mintToken(stage.harness, acme)
await ask('POST', '/v1/embed/keys', { token, body: { name: 'By a customer' } })
await ask('PATCH', '/v1/workspace', { token: olga.token, body: { name: 'Acme Two' } })

test('the log names who acted, leads to their page, and narrows to them by name', async () => {
  const visit = await stage.visit('/app/audit-log', { as: olga })
  const { page } = visit
  const table = page.locator('section[aria-label="Audit log"]')
  await table.getByRole('link', { name: 'Embed session of Globex' }).waitFor()
  await table.getByText('olga@example.com').first().waitFor()
  await visit.look('audit-actors')
  await table.getByRole('link', { name: 'Secret key Deploys' }).first().click()
  await page.waitForURL(`**/app/settings/secret-keys/${deploys.id}`)
  await page.goBack()
  await table.getByRole('link', { name: 'Embed session of Globex' }).click()
  await page.waitForURL(`**/app/tenants/${tenantId}`)
  await page.goBack()
  const actor = page.getByRole('combobox', { name: 'Actor' })
  await actor.fill('deploys')
  await page.getByRole('option', { name: 'Secret key Deploys' }).click()
  await page.waitForURL(`**/app/audit-log?actor_id=${deploys.id}`)
  await page.getByTitle('Key By a customer').waitFor({ state: 'detached' })
  await until(async () => (await actor.inputValue()) === 'Secret key Deploys', 'the filter has the name')
  await visit.press('Clear Actor')
  await table.getByRole('row').filter({ hasText: 'Key By a customer' }).getByRole('button').first().click()
  await visit.press('Only this actor')
  await page.waitForURL('**/app/audit-log?actor_id=*')
  await page.getByTitle('Key By a server').waitFor({ state: 'detached' })
  await until(async () => (await actor.inputValue()) === 'Embed session of Globex', 'the filter has the name')
  await visit.look('audit-embed-actor')
  await visit.leave()
})

test('a person narrows the log to days, beside the other filters and in the address', async () => {
  const [{ seq }] = await query(
    `update audit_logs set created_at = now() - interval '40 days' where workspace_id = $1 and seq =
       (select seq from audit_logs where workspace_id = $1 and action = 'tenant.created') returning seq::int`,
    [workspaceId],
  )
  await query(
    `update audit_logs set created_at = now() - interval '41 days' where workspace_id = $1 and seq < $2`,
    [workspaceId, seq],
  )
  const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
  const visit = await stage.visit('/app/audit-log', { as: olga })
  const { page } = visit
  await page.getByRole('button', { name: 'Workspace changed' }).waitFor()
  await page.getByLabel('To', { exact: true }).fill(dayAgo(30))
  await page.getByRole('button', { name: 'Workspace changed' }).waitFor({ state: 'detached' })
  await page.getByLabel('From', { exact: true }).fill(dayAgo(41))
  await page.getByRole('button', { name: 'Workspace created' }).waitFor()
  await visit.look('audit-days')
  await page.reload()
  await page.getByRole('button', { name: 'Tenant created' }).waitFor()
  await page.getByLabel('From', { exact: true }).fill(dayAgo(20))
  await visit.text('Nothing matches these filters.')
  await visit.press('Clear filters')
  await page.getByRole('button', { name: 'Workspace changed' }).waitFor()
  assert.match(page.url(), /audit-log$/)
  await visit.leave()
})

test('an owner sees from where a change came, and no other person does', async () => {
  const ann = await makePerson(query, { workspaceId, role: 'admin', name: 'Ann', email: 'ann@example.com' })
  for (const [as, sees] of [
    [olga, true],
    [ann, false],
  ] as const) {
    const visit = await stage.visit('/app/audit-log', { as })
    const { page } = visit
    await page.getByRole('button', { name: 'Workspace changed' }).click()
    await page.getByRole('region', { name: /^What changed in row/ }).waitFor()
    assert.equal(await page.getByRole('columnheader', { name: 'IP address' }).count(), sees ? 1 : 0)
    assert.equal(await page.getByRole('button', { name: 'Copy: IP address' }).count(), sees ? 1 : 0)
    if (sees) await visit.look('audit-from')
    await visit.leave()
  }
})

test('the page of a key and the overview name who acted', async () => {
  const visit = await stage.visit(`/app/keys/${key.id}`, { as: olga })
  const { page } = visit
  await page
    .locator('section[aria-label="Rows of the audit log"]')
    .getByRole('link', { name: 'Secret key Deploys' })
    .waitFor()
  await visit.look('key-audit')
  await page.goto('/app/')
  await page.getByRole('link', { name: 'Embed session of Globex' }).waitFor()
  await visit.leave()
})
