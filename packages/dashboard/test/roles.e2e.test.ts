import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { routes } from '../../server/src/routes.ts'
import { makePerson } from '../../server/test/people.ts'
import {
  issueKey,
  makeInvite,
  makeProject,
  makeSecretKey,
  makeTenant,
  makeVendor,
  uniqueSlug,
} from '../../server/test/vendor.ts'
import { declaredRoutes } from './screens.ts'
import { openStage } from './stage.ts'

/** What a screen hides from a role, the service refuses to that role. */

const stage = await openStage()
const { harness } = stage
const { ask, query, deps } = harness
const vendor = await makeVendor(harness)
const { workspaceId, projectId, tenantId } = vendor
const key = await issueKey(harness, vendor, { name: 'Billing' })
const secretKey = await makeSecretKey(harness, vendor, { name: 'Server' })
const invite = await makeInvite(harness, vendor, { email: 'zoe@example.com' })
type Role = 'owner' | 'admin' | 'member'
const person = (name: string, role: Role) =>
  makePerson(query, { workspaceId, role, name, email: `${name.toLowerCase()}@example.com` })
await person('Olga', 'owner')
const people = [
  { role: 'owner', as: await person('Ann', 'owner') },
  { role: 'admin', as: await person('Bob', 'admin') },
  { role: 'member', as: await person('Cyd', 'member') },
] as const
const ranks = { member: 0, admin: 1, owner: 2 } as const

/** A workspace that has come so far with its first steps. */
async function begin(steps: 0 | 1 | 2) {
  const token = deps.config.bootstrapToken ?? ''
  const { body } = await ask('POST', '/v1/workspaces', { token, body: { name: 'New', slug: uniqueSlug() } })
  const maker = { live: String(body.secret_key.key) }
  const project = steps > 0 ? await makeProject(harness, maker) : null
  const tenant = steps > 1 ? await makeTenant(harness, maker) : null
  return { workspaceId: String(body.id), project_id: project?.id, tenant_id: tenant?.id }
}
const begun = [await begin(0), await begin(1), await begin(2)] as const

interface Control {
  readonly name: string
  readonly least: 'admin' | 'owner'
  /** What it calls. */
  readonly call: readonly [method: string, path: string, body?: object]
}

const olga = async () => (await query(`select id from users where email = 'olga@example.com'`))[0].id

/** What each step of the first ones offers, in a workspace that has come to it. */
const firstSteps: readonly (readonly Control[])[] = [
  [
    { name: 'Name of the project', least: 'admin', call: ['POST', '/v1/projects', {}] },
    {
      name: 'Create project',
      least: 'admin',
      call: ['POST', '/v1/projects', { name: 'Other', slug: 'other' }],
    },
  ],
  [
    { name: 'Your own id of the customer', least: 'admin', call: ['POST', '/v1/tenants', {}] },
    { name: 'Name of the customer', least: 'admin', call: ['POST', '/v1/tenants', {}] },
    {
      name: 'Create tenant',
      least: 'admin',
      call: ['POST', '/v1/tenants', { external_id: randomUUID() }],
    },
  ],
  [{ name: 'Create key', least: 'admin', call: ['POST', '/v1/keys', { ...begun[2], env: 'live' }] }],
]

/** Every control that changes something for the workspace, by the screen that has it. */
const screens: Readonly<Record<string, readonly Control[]>> = {
  '/': [],
  // `firstSteps` has the steps before this one.
  '/get-started': [
    {
      name: 'Create secret key',
      least: 'admin',
      call: ['POST', '/v1/secret_keys', { env: 'live', preset: 'node', project_ids: [projectId] }],
    },
  ],
  '/keys': [
    {
      name: 'Create key',
      least: 'admin',
      call: ['POST', '/v1/keys', { project_id: projectId, tenant_id: tenantId, env: 'live' }],
    },
  ],
  [`/keys/${key.id}`]: [
    { name: 'Edit', least: 'admin', call: ['PATCH', `/v1/keys/${key.id}`, { name: 'Other' }] },
    { name: 'Rotate key', least: 'admin', call: ['POST', `/v1/keys/${key.id}/rotate`, {}] },
    { name: 'Pause key', least: 'admin', call: ['POST', `/v1/keys/${key.id}/disable`, {}] },
    { name: 'Revoke key', least: 'admin', call: ['POST', `/v1/keys/${key.id}/revoke`, {}] },
  ],
  '/tenants': [
    { name: 'Create tenant', least: 'admin', call: ['POST', '/v1/tenants', { external_id: randomUUID() }] },
  ],
  [`/tenants/${tenantId}`]: [
    { name: 'Save tenant', least: 'admin', call: ['PATCH', `/v1/tenants/${tenantId}`, { name: 'Other' }] },
    {
      name: 'End all embed sessions',
      least: 'admin',
      call: ['POST', `/v1/tenants/${tenantId}/embed_tokens/revoke`],
    },
    { name: 'Suspend tenant', least: 'admin', call: ['POST', `/v1/tenants/${tenantId}/suspend`, {}] },
    {
      name: 'Pause all keys',
      least: 'admin',
      call: ['POST', '/v1/keys/disable', { filter: { tenant_id: tenantId }, expect: 0 }],
    },
    {
      name: 'Revoke all keys',
      least: 'admin',
      call: ['POST', '/v1/keys/revoke', { filter: { tenant_id: tenantId }, expect: 0 }],
    },
    { name: 'Delete tenant', least: 'admin', call: ['DELETE', `/v1/tenants/${tenantId}`] },
  ],
  '/projects': [
    {
      name: 'Create project',
      least: 'admin',
      call: ['POST', '/v1/projects', { name: 'Other', slug: 'other' }],
    },
  ],
  [`/projects/${projectId}`]: [
    { name: 'Edit', least: 'admin', call: ['PATCH', `/v1/projects/${projectId}`, { name: 'Other' }] },
    { name: 'Delete project', least: 'admin', call: ['DELETE', `/v1/projects/${projectId}`] },
  ],
  '/usage': [],
  '/audit-log': [],
  '/security-events': [],
  '/settings/workspace': [
    { name: 'Save settings', least: 'admin', call: ['PATCH', '/v1/workspace', { name: 'Other' }] },
  ],
  '/settings/members': [
    {
      name: 'Invite person',
      least: 'owner',
      call: ['POST', '/v1/invites', { email: 'yan@example.com', role: 'member' }],
    },
    {
      name: 'Role of Olga',
      least: 'owner',
      call: ['PATCH', `/v1/members/${await olga()}`, { role: 'admin' }],
    },
    { name: 'Remove Olga', least: 'owner', call: ['DELETE', `/v1/members/${await olga()}`] },
    {
      name: 'Resend the invitation for zoe@example.com',
      least: 'owner',
      call: ['POST', '/v1/invites', { email: 'zoe@example.com', role: 'admin' }],
    },
    {
      name: 'Revoke the invitation for zoe@example.com',
      least: 'owner',
      call: ['POST', `/v1/invites/${invite.id}/revoke`],
    },
  ],
  '/settings/secret-keys': [
    {
      name: 'Create secret key',
      least: 'admin',
      call: ['POST', '/v1/secret_keys', { env: 'live', name: 'Other' }],
    },
    // It has the role of an owner, which its successor has too.
    {
      name: 'Rotate Server',
      least: 'owner',
      call: ['POST', `/v1/secret_keys/${secretKey.id}/rotate`, {}],
    },
    { name: 'Revoke Server', least: 'admin', call: ['POST', `/v1/secret_keys/${secretKey.id}/revoke`, {}] },
  ],
  [`/settings/secret-keys/${secretKey.id}`]: [
    { name: 'Name', least: 'admin', call: ['PATCH', `/v1/secret_keys/${secretKey.id}`, { name: 'Other' }] },
    {
      name: 'Save name',
      least: 'admin',
      call: ['PATCH', `/v1/secret_keys/${secretKey.id}`, { name: 'Other' }],
    },
  ],
  '/settings/embed': [
    { name: 'Add origin', least: 'admin', call: ['PATCH', '/v1/workspace', { embed_origins: [] }] },
    { name: 'Save origins', least: 'admin', call: ['PATCH', '/v1/workspace', { embed_origins: [] }] },
    {
      name: 'Save theme',
      least: 'admin',
      call: ['PATCH', '/v1/workspace', { embed_theme: { logo_text: 'Acme' } }],
    },
  ],
}

/** Controls that read, search, copy or choose what the page shows. */
const reading =
  /^(?:Copy.*|Verify chain|Export|Download .*|Clear .*|Load more|Try again|Try the widget|Month|\d+ days|Show revoked|By .*|Find .*|Search .*|Actions for .*|Action|Kind|From|To|Environment|Framework of your server|Test key|Scopes that the request needs \(optional\)|Address of the caller \(optional\)|Project|Actor|Target id|[A-Z][a-z -]+ (?:created|changed|rotated|revoked|deleted|joined|removed|sent)|.* ended)$/

async function ready(page: Page): Promise<void> {
  await page.locator('main h1').waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** What a person can press, type into or choose from, by its name. A figure holds code to copy, or bars; a header sorts. */
const namesIn = async (page: Page) =>
  (await page.evaluate(
    `[...document.querySelectorAll('main :is(button, input, select, textarea, [role=button])')].filter(one => one.checkVisibility() && !one.closest('figure, th'))
      .map(one => (one.getAttribute('aria-label') ?? (one.labels?.[0] ?? one).textContent).trim())`,
  )) as string[]

/** On the page that is shown, the role has its controls, and the service refuses it those that are hidden. */
async function assertControls(page: Page, controls: readonly Control[], role: Role, token: string) {
  await ready(page)
  const names = await namesIn(page)
  const where = new URL(page.url()).pathname
  for (const { name, least, call } of controls) {
    const isAllowed = ranks[role] >= ranks[least]
    assert.equal(names.includes(name), isAllowed, `${name} on ${where}, of ${names.join(', ')}`)
    if (isAllowed) continue
    const [method, url, body] = call
    const answer = await ask(method, url, { token, ...(body !== undefined && { body }) })
    assert.equal(answer.status, 403, `${method} ${url}: ${JSON.stringify(answer.body)}`)
  }
  if (role !== 'member') return
  const known = controls.map(({ name }) => name)
  const others = names.filter(name => !known.includes(name) && !reading.test(name))
  assert.deepEqual(others, [], `controls of ${where} that are in no list`)
}

for (const { role, as } of people) {
  test(`on each screen, the role ${role} sees its writes, and is refused the others`, async () => {
    const visit = await stage.visit('/app/', { as })
    for (const [path, controls] of Object.entries(screens)) {
      await visit.page.goto(`/app${path}`)
      await assertControls(visit.page, controls, role, as.token)
    }
    await visit.leave()
  })

  test(`at each of the first steps, the role ${role} sees its writes, and is refused the others`, async () => {
    for (const [at, controls] of firstSteps.entries()) {
      const newcomer = await makePerson(query, {
        workspaceId: begun[at]?.workspaceId ?? '',
        role,
        name: 'Dan',
      })
      const visit = await stage.visit('/app/get-started', { as: newcomer })
      await visit.text(`${at} of 5 steps done`)
      await assertControls(visit.page, controls, role, newcomer.token)
      await visit.leave()
    }
  })
}

test('the list has every screen of a workspace', () => {
  const paths = Object.keys(screens).map(path =>
    path.replace(
      /([\w-]+)s\/[0-9a-f-]{36}$/,
      (_, noun: string) => `${noun}s/$${noun.replace(/-(\w)/, (_, next) => next.toUpperCase())}Id`,
    ),
  )
  // A person changes the own account in any role.
  const others = declaredRoutes.filter(({ path, isInShell }) => isInShell && path !== '/account')
  assert.deepEqual(paths.toSorted(), others.map(({ path }) => path).toSorted())
})

test('each call in the list is a route of the service', () => {
  for (const { call } of [...Object.values(screens), ...firstSteps].flat()) {
    const [method, url] = call
    const path = url.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, ':id')
    assert.ok(
      routes.some(one => one.method === method && one.path.replace(/:\w+/, ':id') === path),
      `${method} ${path}`,
    )
  }
})
