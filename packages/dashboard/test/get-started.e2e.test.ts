import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { archiveOf } from '@keyrail/contract/packages'
import { makePerson } from '../../server/test/people.ts'
import { readText } from '../../server/test/source-files.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { serverSamples } from '../src/screens/get-started/snippets.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query, ask, deps } = harness
const place = { url: 'https://keys.example', projectId: 'p', env: 'live', secret: 's' } as const

test('a new owner goes from nothing to the first verified request, and each step ticks itself', async () => {
  const slug = `acme-${randomUUID().slice(0, 8)}`
  const token = deps.config.bootstrapToken ?? ''
  const made = (await ask('POST', '/v1/workspaces', { token, body: { name: 'Acme', slug } })).body
  const ann = await makePerson(query, { workspaceId: made.id, role: 'owner', name: 'Ann' })
  const visit = await stage.visit('/app/get-started', { as: ann })
  await visit.text('0 of 5 steps done')
  await visit.look('get-started')
  await visit.fill('Name of the project', 'Payments')
  await visit.press('Create project')
  await visit.text('1 of 5 steps done')
  await visit.fill('Your own id of the customer', 'org_17')
  await visit.press('Create tenant')
  await visit.text('2 of 5 steps done')

  await visit.press('Create key')
  await visit.text('Copy the key now.')
  const key = await visit.shownOnce()
  await visit.store()
  await visit.assertForgotten(key)
  await visit.text('3 of 5 steps done')
  await visit.text('Waiting for your API')

  await visit.press('Create secret key')
  await visit.text('Copy the secret key now.')
  const secret = await visit.shownOnce()
  const dialog = visit.page.getByRole('dialog')
  const project = (await ask('GET', '/v1/projects', { token: made.secret_key.key })).body.data[0]
  const settings = String(
    await dialog.getByRole('figure', { name: 'For the environment of your server' }).textContent(),
  )
  assert.ok(settings.includes(`KEYRAIL_SECRET_KEY=${secret}`))
  const code = String(await dialog.getByRole('figure', { name: 'The code of your server' }).textContent())
  for (const part of [stage.url, project.id]) assert.ok(code.includes(part), part)
  assert.ok(!code.includes(secret))
  await visit.look('get-started-secret')
  await dialog.getByLabel('Framework of your server').selectOption('curl')
  const request = String(await dialog.getByRole('figure', { name: 'The call of a server' }).textContent())
  for (const part of [stage.url, project.id, secret]) assert.ok(request.includes(part), part)
  for (const name of ['Go', 'Python', 'nginx', 'Envoy']) {
    await dialog.getByLabel('Framework of your server').selectOption(name)
    const own = String(
      await dialog.getByRole('figure', { name: 'For the environment of your server' }).textContent(),
    )
    assert.ok(own.includes(`KEYRAIL_SECRET_KEY=${secret}`), name)
    if (name === 'Go' || name === 'nginx') await visit.look(`get-started-${name.toLowerCase()}`)
  }
  await dialog.getByLabel('Framework of your server').selectOption('Hono')
  await visit.store()
  await visit.assertForgotten(secret)
  await visit.text('The secret key of your server exists.')
  await visit.page.getByRole('button', { name: 'Create another secret key' }).waitFor()
  await visit.text(`npm install ./${archiveOf('sdk')} hono @hono/node-server`)
  await visit.look('get-started-connect')

  const feed = `/v1/policy/snapshot?project_id=${project.id}&env=live&node=first-server`
  assert.equal((await ask('GET', feed, { token: secret })).status, 200)
  await visit.text('4 of 5 steps done')
  await visit.text('Waiting for the first request')
  await visit.look('get-started-waiting')

  const { id } = (await ask('GET', '/v1/keys', { token: made.secret_key.key })).body.data[0]
  const [{ now }] = await query('select service_now() as now')
  const records = [{ key_id: id, hour: now, count: 1 }]
  const report = { report_id: randomUUID(), sample_rate: 1, records }
  assert.equal((await ask('POST', '/v1/usage/reports', { token: secret, body: report })).status, 202)
  await visit.text('All five steps are done.')
  await visit.text('1 request in 30 days.')
  await visit.look('get-started-done')
  await visit.leave()
})

test('a member sees how far the steps are, and no way to do them', async () => {
  const acme = await makeVendor(harness)
  const bob = await makePerson(query, { workspaceId: acme.workspaceId, role: 'member', name: 'Bob' })
  const visit = await stage.visit('/app/get-started', { as: bob })
  await visit.text('2 of 5 steps done')
  await visit.text('An admin or an owner does this step.')
  assert.equal(await visit.page.getByRole('button', { name: /^Create/ }).count(), 0)
  await visit.look('get-started-as-member')
  await visit.leave()
})

test('each sample names the real address and project, and entry points that the SDK has', () => {
  const { exports } = JSON.parse(readText('packages/sdk/package.json'))
  for (const { name, code } of serverSamples(place)) {
    assert.ok(code.includes(place.url), name)
    const imported = [...code.matchAll(/'@keyrail\/sdk(\/\w+)?'/g)].map(([, path = '']) => `.${path}`)
    assert.equal(imported.length, 2, name)
    for (const path of imported) assert.ok(path in exports, `${name}: ${path}`)
  }
})
