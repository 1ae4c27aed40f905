import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { declaredRoutes } from './screens.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness

test('a person sees on every screen whether the nodes of all projects are current', async () => {
  const vendor = await makeVendor(harness)
  const { live, projectId, workspaceId } = vendor
  const { body: other } = await ask('POST', '/v1/projects', {
    token: live,
    body: { name: 'Other', slug: 'other-fleet' },
  })
  await issueKey(harness, vendor)
  const person = await makePerson(query, { workspaceId, name: 'Ann' })
  const visit = await stage.visit('/app/tenants', { as: person })
  const { page } = visit
  const dot = page.getByRole('navigation', { name: 'Keyrail' }).getByRole('status')
  await dot.getByRole('link', { name: 'No node connected' }).waitFor()

  const versionOf = async (project: string) =>
    (await query('select version::int from policy_heads where project_id = $1', [project]))[0].version
  const poll = (node: string, project: string, since: number, more = '') =>
    ask('GET', `/v1/policy/delta?project_id=${project}&since=${since}&node=${node}${more}`, { token: live })
  const [version, otherVersion] = [await versionOf(projectId), await versionOf(other.id)]
  // A node is live for 90 seconds, so each look is soon after the nodes have asked.
  const seeNodes = async (hasThird: boolean, text: string) => {
    await poll('api-1', projectId, version)
    await poll('other-1', other.id, otherVersion)
    if (hasThird) await poll('api-2', projectId, version - 1, '&env=live')
    await page.reload()
    await dot.getByRole('link', { name: text }).waitFor()
  }
  await seeNodes(false, '2 nodes, all current')
  await seeNodes(true, '1 of 3 nodes behind')
  await page.context().setOffline(true)
  await dot.getByText('Offline').waitFor()
  await page.context().setOffline(false)
  await dot.getByRole('link', { name: '1 of 3 nodes behind' }).click()
  await visit.heading('Payments')
  await page.getByRole('region', { name: 'Nodes' }).getByText('api-2').waitFor()
  await page.getByRole('radiogroup', { name: 'Environment' }).getByText('Test', { exact: true }).click()
  await seeNodes(true, '2 nodes, all current')
  await visit.look('fleet')
  await visit.leave()
})

/** Answers take two frames more, so that requests that a screen sends together overlap. */
const countRequests = `
  window.mostRequests = 0
  let now = 0
  const send = window.fetch
  const frame = () => new Promise(requestAnimationFrame)
  window.fetch = async (...given) => {
    mostRequests = Math.max(mostRequests, ++now)
    try {
      return await send(...given)
    } finally {
      await frame()
      await frame()
      now--
    }
  }`

test('no screen asks more than six requests at once', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const { body: next } = await ask('POST', `/v1/keys/${id}/rotate`, { token: vendor.live, body: {} })
  await ask('POST', `/v1/keys/${next.id}/rotate`, { token: vendor.live, body: {} })
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Ann' })
  const ids: Readonly<Record<string, string>> = {
    $keyId: next.id,
    $tenantId: vendor.tenantId,
    $projectId: vendor.projectId,
  }
  for (const { path: declared } of declaredRoutes.filter(({ isInShell }) => isInShell)) {
    const path = declared.replace(/\$\w+/, name => ids[name] ?? '')
    const visit = await stage.visit('/app/sign-in', { as: person })
    const { page } = visit
    await page.addInitScript(countRequests)
    await page.goto(`/app${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle')
    const most = Number(await page.evaluate('mostRequests'))
    assert.ok(most >= 1 && most <= 6, `/app${path} asks ${most} at once`)
    await visit.leave()
  }
})
