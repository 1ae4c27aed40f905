import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { makeForms } from './forms.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness
const vendor = await makeVendor(harness)
const makeOwner = (workspaceId: string) => makePerson(query, { workspaceId, role: 'owner', name: 'Ann' })
const refused = /^(?:A name|The text) must not have U\+202E, which changes the direction of text\.$/

test('every form with a name says what is wrong with one that no person could read', async () => {
  const ann = await makeOwner(vendor.workspaceId)
  const shared = await stage.visit('/app/', { as: ann })
  const told: string[] = []
  for (const form of await makeForms(harness, vendor)) {
    const { name, path, isAlone, workspaceId = vendor.workspaceId } = form
    const visit = isAlone ? await stage.visit(path, { as: await makeOwner(workspaceId) }) : shared
    const { page } = visit
    if (!isAlone) await page.goto(path)
    await form.type(visit)
    const button = page.getByRole('button', { name: form.submit, exact: true })
    const sent = page.locator('form').filter({ has: button })
    const fields = sent.getByLabel(/^(?:Name|Logo text)/)
    // A name to confirm a deletion is in the label too.
    if ((await fields.count()) === 1 && (await fields.isEditable())) {
      await fields.fill('gnp.\u202efdp')
      await sent.getByRole('button', { name: form.submit, exact: true }).click()
      await sent.getByText(refused).waitFor()
      if (told.push(name) === 3) await visit.look('name-refused')
    }
    if (isAlone) await visit.leave()
  }
  await shared.leave()
  assert.deepEqual(told.toSorted(), [
    'a key',
    'a new key',
    'a new project',
    'a new secret key',
    'a new tenant',
    'a new workspace',
    'a tenant',
    'default limits',
    'the first project',
    'the first tenant',
    'the name of a project',
    'the name of a secret key',
    'the scopes of a project',
    'the settings of a workspace',
    'the theme of the widget',
    'your name',
  ])
})

test('an old name that the rule would refuse stays while the rest of its form is saved', async () => {
  const { workspaceId, tenantId } = vendor
  const old = 'gnp.\u202efdp'
  await query('update tenants set name = $2 where id = $1', [tenantId, old])
  await query('update workspaces set name = $2, embed_logo_text = $2 where id = $1', [workspaceId, old])
  const visit = await stage.visit(`/app/tenants/${tenantId}`, { as: await makeOwner(workspaceId) })
  await visit.fill('Metadata', '{ "plan": "pro" }')
  await visit.press('Save tenant')
  await visit.text('The tenant is saved.')
  await visit.page.goto('/app/settings/workspace')
  await visit.fill('Billing address', 'bills@example.com')
  await visit.press('Save settings')
  await visit.text('The settings are saved.')
  await visit.page.goto('/app/settings/embed')
  await visit.fill('Radius', '3')
  await visit.press('Save theme')
  await visit.text('The theme is saved.')
  const { body } = await ask('GET', '/v1/workspace', { token: vendor.live })
  assert.deepEqual(
    [body.name, body.billing_email, body.embed_theme.radius, body.embed_theme.logo_text],
    [old, 'bills@example.com', 3, old],
  )
  const tenant = await ask('GET', `/v1/tenants/${tenantId}`, { token: vendor.live })
  assert.deepEqual([tenant.body.name, tenant.body.meta], [old, { plan: 'pro' }])
  await visit.leave()
})
