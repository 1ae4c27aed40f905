import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeInvite, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { look, type View } from './look.ts'
import { addressOf, declaredRoutes } from './screens.ts'
import type { Stage, Visit } from './stage.ts'

/** Each route of the router, with the title that its screen has for the person who walks. */
export const titles: Readonly<Record<string, string>> = {
  '/sign-in': 'Sign in',
  '/sign-up': 'Create your account',
  '/reset-password': 'Forgot your password?',
  '/verify-email': 'This link is incomplete',
  '/accept-invite': 'This link is incomplete',
  '/workspaces': 'Choose a workspace',
  '/workspaces/new': 'Create a workspace',
  '/workspaces/adopt': 'Open a workspace by its secret key',
  '/': 'Overview',
  '/get-started': 'Get started',
  '/keys': 'Keys',
  '/keys/$keyId': 'Billing',
  '/tenants': 'Tenants',
  '/tenants/$tenantId': 'org-',
  '/projects': 'Projects',
  '/projects/$projectId': 'Payments',
  '/usage': 'Usage',
  '/audit-log': 'Audit log',
  '/security-events': 'Security events',
  '/settings/workspace': 'Workspace',
  '/settings/members': 'Members',
  '/settings/secret-keys': 'Secret keys',
  '/settings/secret-keys/$secretKeyId': 'Server',
  '/settings/embed': 'Embed',
  '/account': 'Account',
}

/** A workspace in which each screen has something to show, with a person who may see all of it. */
async function fillScreens({ harness }: Stage) {
  const { ask, query } = harness
  const vendor = await makeVendor(harness)
  const { workspaceId, projectId, tenantId, live } = vendor
  const named = { name: 'Billing', scopes: ['read', 'write'], meta: { plan: 'pro' } }
  const key = await issueKey(harness, vendor, named)
  const testKey = await issueKey(harness, vendor, { ...named, env: 'test' })
  await ask('POST', `/v1/keys/${key.id}/rotate`, { token: live, body: { overlap_hours: 24 } })
  const secretKey = await makeSecretKey(harness, vendor, { name: 'Server', preset: 'node' })
  await makeInvite(harness, vendor, { email: 'zoe@example.com' })
  await ask('PATCH', '/v1/workspace', { token: live, body: { embed_origins: ['https://app.example.com'] } })
  await ask('GET', `/v1/policy/snapshot?project_id=${projectId}&node=api-1`, { token: live })
  const [{ now }] = await query('select service_now() as now')
  await ask('POST', '/v1/usage/reports', {
    token: live,
    body: { report_id: randomUUID(), sample_rate: 1, records: [{ key_id: key.id, hour: now, count: 1_204 }] },
  })
  const refused = ['unknown_key', 'revoked_key', 'expired_key', 'insufficient_scope', 'rate_limited']
  const inShadow = ['shadow_agreed', 'shadow_unknown_key', 'shadow_guard_missing_key']
  await ask('POST', '/v1/usage/refusals', {
    token: live,
    body: {
      report_id: randomUUID(),
      project_id: projectId,
      records: [...refused, ...inShadow].map(reason => ({ hour: now, reason, count: 48 })),
    },
  })
  const as = await makePerson(query, { workspaceId, role: 'owner', name: 'Ann', email: 'ann@example.com' })
  const idsOf = (keyId: string): Readonly<Record<string, string>> => ({
    $keyId: keyId,
    $tenantId: tenantId,
    $projectId: projectId,
    $secretKeyId: secretKey.id,
  })
  return { as, ids: { live: idsOf(key.id), test: idsOf(testKey.id) } }
}

/** What a person may be shown once, wherever it could stay. The session itself is in the storage of its tab. */
async function assertNoSecret(page: Page, name: string): Promise<void> {
  const held = String(
    await page.evaluate(
      `document.documentElement.outerHTML + JSON.stringify([{ ...localStorage }, { ...sessionStorage, 'keyrail.session': null }, history.state, location.href]) + [...document.querySelectorAll('input, textarea')].map(one => one.value)`,
    ),
  )
  assert.doesNotMatch(held, /\b\w+_(?:live|test)_\w{30,}|\bkrses_\w{30,}/, name)
}

/**
 * Opens each screen and looks at it: axe finds no fault, nothing is too wide, no secret stays, and the console, the policy
 * and the other hosts are as `leave` wants them.
 */
export async function walkScreens(
  stage: Stage,
  env: 'live' | 'test',
  views: readonly [View, ...View[]],
): Promise<void> {
  const { as, ids } = await fillScreens(stage)
  const visit: Visit = await stage.visit('/app/', { as, colorScheme: views[0][0] })
  const { page } = visit
  // Outside of the shell, nothing has an environment.
  for (const { path } of declaredRoutes.filter(({ isInShell }) => env === 'live' || isInShell)) {
    const address = addressOf(path.replace(/\$\w+/, name => ids[env][name] ?? ''))
    await page.goto(env === 'live' ? address : `${address}?env=test`)
    await page.getByRole('heading', { name: new RegExp(`^${titles[path]}`), level: 1 }).waitFor()
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
    await look(page, `every-${env}${path.replaceAll(/[/$]+/g, '-')}`, views)
    await assertNoSecret(page, path)
  }
  await visit.leave()
}
