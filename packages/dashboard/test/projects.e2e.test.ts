import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeProject, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness
const makeMember = (workspaceId: string, role: 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name: role })
const projectsOf = async (vendor: { live: string }) =>
  (await ask('GET', '/v1/projects', { token: vendor.live })).body.data

test('an admin creates a project with limits said in words, and finds it again', async () => {
  const acme = await makeVendor(stage.harness)
  await ask('DELETE', `/v1/projects/${acme.projectId}`, { token: acme.live })
  const visit = await stage.visit('/app/projects', { as: await makeMember(acme.workspaceId, 'admin') })
  await visit.text('No projects yet')
  await visit.look('projects-empty')
  await visit.press('Create project')
  const dialog = visit.page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Payments API')
  assert.equal(await dialog.getByLabel('Slug').inputValue(), 'payments-api')
  await dialog.getByLabel('Key prefix').fill('sk')
  await dialog.getByRole('button', { name: 'Add limit' }).click()
  await visit.text('100 requests a minute, sliding, per key')
  await dialog.getByLabel('Requests', { exact: true }).fill('')
  await dialog.getByRole('button', { name: 'Create project' }).click()
  await visit.text('Other credentials have this prefix.')
  await visit.text('Enter a whole number from 1 to 1,000,000,000.')
  await visit.look('project-create-faults')
  await dialog.getByLabel('Key prefix').fill('pay')
  await dialog.getByLabel('Requests', { exact: true }).fill('1,000')
  await dialog.getByLabel('Unit').selectOption('hour')
  await visit.text('1,000 requests an hour, sliding, per key')
  await dialog.getByRole('button', { name: 'Create project' }).click()
  await visit.heading('Payments API')
  const [made] = await projectsOf(acme)
  assert.equal(made.key_prefix, 'pay')
  assert.deepEqual(made.default_rate_limits, [
    { id: 'requests', limit: 1_000, window_ms: 3_600_000, algorithm: 'sliding', scope: 'key' },
  ])

  await visit.page.getByRole('link', { name: 'Projects' }).click()
  await visit.heading('Projects')
  await visit.fill('Search by name or id', 'nothing like it')
  await visit.text('No match')
  assert.match(visit.page.url(), /\?q=nothing\+like\+it$/)
  await visit.look('projects-no-match')
  await visit.press('Clear filters')
  await visit.page.getByRole('link', { name: 'Payments API' }).waitFor()
  assert.doesNotMatch(visit.page.url(), /q=/)
  await visit.look('projects')
  await visit.leave()
})

test('a slug that another project has is refused at its field', async () => {
  const acme = await makeVendor(stage.harness)
  const [{ slug }] = await projectsOf(acme)
  const other = await makeProject(stage.harness, acme)
  const visit = await stage.visit(`/app/projects/${other.id}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  await visit.press('Edit')
  await visit.fill('Slug', slug)
  await visit.press('Save project')
  await visit.text('Another project has this slug.')
  await visit.fill('Slug', 'ledger')
  await visit.fill('Name', 'Ledger')
  await visit.press('Save project')
  await visit.heading('Ledger')
  // Nodes load all keys again after new limits, so nothing else sends them.
  const { body: saved } = await ask('GET', `/v1/projects/${other.id}`, { token: acme.live })
  assert.deepEqual([saved.slug, saved.policy_version], ['ledger', other.policy_version])
  await visit.leave()
})

test('an admin changes default limits, warned that every node loads its keys again', async () => {
  const acme = await makeVendor(stage.harness)
  const path = `/v1/projects/${acme.projectId}`
  const poll = (since: number, node: string, env = '') =>
    ask('GET', `/v1/policy/delta?project_id=${acme.projectId}&since=${since}&node=${node}${env}`, {
      token: acme.live,
    })
  const visit = await stage.visit(`/app/projects/${acme.projectId}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  await visit.text('No nodes')
  await visit.look('project-without-nodes')
  const { policy_version: version } = (await ask('GET', path, { token: acme.live })).body
  await poll(version, 'eu-1')
  await poll(version, 'us-1', '&env=live')
  await visit.press('Edit')
  await visit.text('every node loads all keys again')
  await visit.press('Add limit')
  await visit.fill('Every', '15')
  await visit.look('project-edit')
  await visit.press('Save project')
  await visit.text('The project is saved.')
  await visit.text('100 requests every 15 minutes, sliding, per key')
  const { default_rate_limits } = (await ask('GET', path, { token: acme.live })).body
  assert.equal(default_rate_limits[0].window_ms, 900_000)

  const fleet = visit.page.getByRole('region', { name: 'Nodes' })
  await fleet.getByRole('row', { name: 'us-1 Live 1 1 version' }).waitFor()
  await fleet.getByRole('row', { name: 'eu-1 Live and test 1 1 version' }).waitFor()
  const drawn = visit.page.getByLabel('Nodes by version')
  await drawn.getByText('1 version behind').waitFor()
  assert.equal(await drawn.locator('dd').textContent(), '2 nodes')
  assert.equal(await drawn.locator('[title="us-1"]').count(), 1)
  await query(
    `update policy_nodes set seen_at = service_now() - interval '3 hours' where workspace_id = $1 and node = 'eu-1'`,
    [acme.workspaceId],
  )
  await poll(version + 1, 'us-1', '&env=live&held_keys=31000&held_keys_max=38000')
  await visit.page.reload()
  await fleet.getByText('Current').waitFor()
  await fleet.getByText('Silent').waitFor()
  assert.deepEqual(await drawn.locator('dt').allTextContents(), ['Current', 'Silent'])
  await visit.look('project')
  await visit.leave()
})

test('a project shows its newest keys and its requests, and leads to all of its keys', async () => {
  const acme = await makeVendor(stage.harness)
  const other = await makeProject(stage.harness, acme)
  await issueKey(stage.harness, { ...acme, projectId: other.id }, { name: 'Elsewhere' })
  for (let n = 1; n <= 7; n++) {
    const { id } = await issueKey(stage.harness, acme, { name: `Key ${n}` })
    const [{ now }] = await query('select service_now() as now')
    const records = [{ key_id: id, hour: now, count: 100 * n }]
    const body = { report_id: randomUUID(), sample_rate: 1, records }
    assert.equal((await ask('POST', '/v1/usage/reports', { token: acme.live, body })).status, 202)
  }
  const visit = await stage.visit(`/app/projects/${acme.projectId}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  const keys = visit.page.getByRole('region', { name: 'Keys of this project' })
  await keys.getByRole('link', { name: 'Key 7' }).waitFor()
  assert.deepEqual(
    await keys.getByRole('link').allTextContents(),
    [7, 6, 5, 4, 3].map(n => `Key ${n}`),
  )
  await visit.text('2,800 in live, 30 days')
  await visit.page.getByRole('figure', { name: 'Requests a day' }).waitFor()
  await visit.look('project-with-keys')
  await visit.page.getByRole('link', { name: 'All keys of this project' }).click()
  await visit.heading('Keys')
  await visit.page.getByRole('link', { name: 'Key 1' }).waitFor()
  assert.equal(await visit.page.getByRole('link', { name: 'Elsewhere' }).count(), 0)
  await visit.page.goBack()
  await visit.page.getByRole('link', { name: 'Create key' }).click()
  await visit.page.getByRole('dialog', { name: 'Create live key' }).waitFor()
  assert.match(visit.page.url(), new RegExp(`project=${acme.projectId}`))
  await visit.leave()
})

test('a project is deleted after its name is typed, with the number of keys that end', async () => {
  const acme = await makeVendor(stage.harness)
  for (const env of ['live', 'live', 'test']) await issueKey(stage.harness, acme, { env })
  const visit = await stage.visit(`/app/projects/${acme.projectId}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  await visit.press('Delete project')
  await visit.text('2 live keys and 1 test key stop working at once.')
  const confirm = visit.page.getByRole('dialog').getByRole('button', { name: 'Delete project' })
  assert.ok(await confirm.isDisabled())
  await visit.fill('Type Payments to confirm', 'Payments')
  await visit.look('project-delete')
  await confirm.click()
  await visit.heading('Projects')
  await visit.text('No projects yet')
  assert.deepEqual(await projectsOf(acme), [])
  await visit.page.goto(`/app/projects/${acme.projectId}`)
  await visit.text('No such project')
  await visit.leave()
})

test('a member sees projects and limits in words, and nothing that changes them', async () => {
  const acme = await makeVendor(stage.harness)
  const limit = { id: 'burst', limit: 5, window_ms: 1_000, algorithm: 'fixed', scope: 'tenant' }
  await ask('PATCH', `/v1/projects/${acme.projectId}`, {
    token: acme.live,
    body: { default_rate_limits: [limit] },
  })
  const visit = await stage.visit('/app/projects', { as: await makeMember(acme.workspaceId, 'member') })
  await visit.text('An admin or an owner can create one.')
  await visit.page.getByRole('link', { name: 'Payments' }).click()
  await visit.heading('Payments')
  await visit.text('An admin or an owner can change this project.')
  await visit.text('5 requests a second, fixed, per tenant')
  await visit.text('No nodes')
  const changes = visit.page.getByRole('button', { name: /Edit|Save|Delete|Add|Create/ })
  assert.equal(await changes.count(), 0)
  await visit.look('project-of-a-member')
  await visit.leave()
})
