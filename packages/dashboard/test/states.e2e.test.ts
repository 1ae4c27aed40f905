import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor, uniqueSlug } from '../../server/test/vendor.ts'
import { addressOf, declaredRoutes } from './screens.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query, deps } = harness
const vendor = await makeVendor(harness)
const key = await issueKey(harness, vendor, { name: 'Billing' })
const ids: Readonly<Record<string, string>> = {
  $keyId: key.id,
  $tenantId: vendor.tenantId,
  $projectId: vendor.projectId,
}
const addresses = declaredRoutes
  .filter(({ isInShell }) => isInShell)
  .map(({ path }) => addressOf(path.replace(/\$\w+/, name => ids[name] ?? '')))
const makeOwner = (workspaceId = vendor.workspaceId) =>
  makePerson(query, { workspaceId, role: 'owner', name: 'Ann' })

/** Answers every read of a screen, except the one that names the signed-in person. */
async function answerReads(page: Page, answer: (route: Route) => Promise<void>): Promise<void> {
  await page.route(({ pathname }) => pathname.startsWith('/v1/') && pathname !== '/v1/auth/me', answer)
}

const requestId = 'req-of-the-test'
const problem = (status: number, code: string, detail: string) => ({
  status,
  contentType: 'application/problem+json',
  body: JSON.stringify({
    type: `https://keys.example/errors/${code}`,
    title: code,
    status,
    code,
    detail,
    request_id: requestId,
  }),
})

test('each screen waits in its frame, then says why it failed, and loads when asked again', async () => {
  const visit = await stage.visit('/app/', { as: await makeOwner() })
  const { page } = visit
  await visit.heading('Overview')
  const failure = problem(500, 'internal_error', 'Something broke.')
  for (const address of addresses) {
    const held: Route[] = []
    let isHeld = true
    await answerReads(page, async route => {
      if (isHeld) held.push(route)
      else await route.fulfill(failure)
    })
    await page.goto(address)
    await page.locator('main h1').waitFor()
    await page.locator('main [aria-busy="true"]').first().waitFor()
    const trouble = page.locator('main').getByRole('alert').filter({ hasText: requestId })
    assert.equal(await trouble.count(), 0, address)

    isHeld = false
    for (const route of held) await route.fulfill(failure)
    await trouble.first().waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    const again = trouble.getByRole('button', { name: 'Try again' })
    while ((await again.count()) > 0) {
      const before = await again.count()
      await again.first().click()
      await again.nth(before - 1).waitFor({ state: 'detached' })
    }
    assert.equal(await page.getByText(requestId).count(), 0, address)
  }
  await visit.leave()
})

test('a screen that a person may not see says so', async () => {
  const visit = await stage.visit('/app/', { as: await makeOwner() })
  const { page } = visit
  await visit.heading('Overview')
  await answerReads(page, route => route.fulfill(problem(403, 'forbidden', 'Your role does not allow this.')))
  for (const address of addresses) {
    await page.goto(address)
    await page.getByText('You may not see this').first().waitFor()
    await visit.text('Your role does not allow this.')
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await visit.leave()
})

test('offline, a list says so, and loads with the connection', async () => {
  const visit = await stage.visit('/app/keys', { as: await makeOwner() })
  const { page } = visit
  const link = page.getByRole('link', { name: 'Billing' })
  await link.waitFor()
  await page.context().setOffline(true)
  await visit.fill('Find keys', 'bill')
  await visit.text('You are offline')
  await visit.look('offline')
  await page.context().setOffline(false)
  await link.waitFor()
  await visit.leave()
})

test('an empty workspace says what to do first, and a search that nothing matches', async () => {
  const token = deps.config.bootstrapToken ?? ''
  const { body } = await ask('POST', '/v1/workspaces', { token, body: { name: 'New', slug: uniqueSlug() } })
  const visit = await stage.visit('/app/', { as: await makeOwner(body.id) })
  for (const [path, text] of [
    ['/', 'No keys in the live environment yet'],
    ['/get-started', '0 of 5 steps done'],
    ['/keys', 'No live keys yet'],
    ['/keys?env=test', 'No test keys yet'],
    ['/tenants', 'No tenants yet'],
    ['/projects', 'No projects yet'],
    ['/settings/members', 'No invitations'],
    ['/settings/secret-keys?env=test', 'No secret keys in test'],
    ['/settings/embed', 'No page may use embed tokens yet.'],
    ['/keys?q=zzz', 'No match'],
    ['/tenants?q=zzz', 'No match'],
    ['/projects?q=zzz', 'No match'],
    [`/audit-log?target_id=${randomUUID()}`, 'No match'],
    [`/keys/${randomUUID()}`, 'No such key'],
    [`/tenants/${randomUUID()}`, 'No such tenant'],
    [`/projects/${randomUUID()}`, 'No such project'],
  ] as const) {
    await visit.page.goto(`/app${path}`)
    await visit.text(text)
  }
  await visit.leave()
})
