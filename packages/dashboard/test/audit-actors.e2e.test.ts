import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintToken } from '../../server/test/embed.ts'
import { makePerson } from '../../server/test/people.ts'
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
  assert.equal(await actor.inputValue(), 'Secret key Deploys')
  await visit.press('Clear Actor')
  await table.getByRole('row').filter({ hasText: 'Key By a customer' }).getByRole('button').first().click()
  await visit.press('Only this actor')
  await page.waitForURL('**/app/audit-log?actor_id=*')
  await page.getByTitle('Key By a server').waitFor({ state: 'detached' })
  assert.equal(await actor.inputValue(), 'Embed session of Globex')
  await visit.look('audit-embed-actor')
  await visit.leave()
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
