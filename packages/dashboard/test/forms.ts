import type { Harness } from '../../server/test/harness.ts'
import { madePassword } from '../../server/test/people.ts'
import { issueKey, makeProject, makeSecretKey, uniqueSlug, type Vendor } from '../../server/test/vendor.ts'
import type { Visit } from './stage.ts'

/** A form, and what a person types into it. */
export interface Form {
  readonly name: string
  readonly path: string
  /** It needs its own person, perhaps in another workspace. */
  readonly isAlone?: true
  readonly workspaceId?: string
  /** The page reads something before it allows the change, so the person presses the button after the sign-in. */
  readonly isLate?: true
  readonly type: (visit: Visit) => Promise<void>
  readonly submit: string
  /** What the page says when it is done. */
  readonly done: string
}

/** Every form of the dashboard, with the rows that it needs. */
export async function makeForms(harness: Harness, vendor: Vendor): Promise<readonly Form[]> {
  const { ask } = harness
  const { projectId, tenantId } = vendor
  const makeWorkspace = async () => {
    const token = harness.deps.config.bootstrapToken ?? ''
    const { body } = await ask('POST', '/v1/workspaces', { token, body: { name: 'New', slug: uniqueSlug() } })
    return { id: String(body.id), live: String(body.secret_key.key) }
  }
  const [bare, begun] = [await makeWorkspace(), await makeWorkspace()]
  await makeProject(harness, begun)
  const keys = [
    await issueKey(harness, vendor, { name: 'Edited' }),
    await issueKey(harness, vendor, { name: 'Rotated' }),
    await issueKey(harness, vendor, { name: 'Revoked' }),
  ]
  const pageOf = (at: number) => `/app/keys/${keys[at]?.id}`
  const doomed = await makeProject(harness, vendor)
  await makeSecretKey(harness, vendor, { name: 'Old server' })
  await makeSecretKey(harness, vendor, { name: 'Server' })
  const renamed = await makeSecretKey(harness, vendor, { name: 'Renamed' })

  return [
    {
      name: 'the name of a secret key',
      path: `/app/settings/secret-keys/${renamed.id}`,
      type: visit => visit.fill('Name', 'Server of today'),
      submit: 'Save name',
      done: 'The name is saved.',
    },
    {
      name: 'the first project',
      path: '/app/get-started',
      isAlone: true,
      workspaceId: bare.id,
      type: visit => visit.fill('Name of the project', 'Payments'),
      submit: 'Create project',
      done: '1 of 5 steps done',
    },
    {
      name: 'the first tenant',
      path: '/app/get-started',
      isAlone: true,
      workspaceId: begun.id,
      async type(visit) {
        await visit.fill('Your own id of the customer', 'org_17')
        await visit.fill('Name of the customer', 'Globex')
      },
      submit: 'Create tenant',
      done: '2 of 5 steps done',
    },
    {
      name: 'a new project',
      path: '/app/projects',
      async type(visit) {
        await visit.press('Create project')
        await visit.page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Refunds')
        await visit.fill('Key prefix', 'rf')
        await visit.press('Add limit')
        await visit.fill('Requests', '250')
      },
      submit: 'Create project',
      done: 'rf_live_',
    },
    {
      name: 'the name of a project',
      path: `/app/projects/${projectId}`,
      async type(visit) {
        await visit.press('Edit')
        await visit.fill('Name', 'Payments of today')
      },
      submit: 'Save project',
      done: 'The project is saved.',
    },
    {
      name: 'default limits',
      path: `/app/projects/${projectId}`,
      async type(visit) {
        await visit.press('Edit')
        await visit.press('Add limit')
        // A section of the page behind has the same name.
        await visit.page.getByRole('textbox', { name: 'Requests', exact: true }).fill('250')
      },
      submit: 'Save project',
      done: 'The project is saved.',
    },
    {
      name: 'the scopes of a project',
      path: `/app/projects/${projectId}`,
      async type(visit) {
        await visit.press('Edit')
        const list = visit.page.getByRole('combobox', { name: 'Known scopes' })
        await list.fill('refunds')
        await list.press('Enter')
        await visit.page.getByLabel('Refuse other scopes').check()
      },
      submit: 'Save project',
      done: 'The project is saved.',
    },
    {
      name: 'the end of a project',
      isLate: true,
      path: `/app/projects/${doomed.id}`,
      async type(visit) {
        await visit.press('Delete project')
        await visit.fill(`Type ${doomed.name} to confirm`, doomed.name)
        await visit.text('No key works at present')
      },
      submit: 'Delete project',
      done: 'A project is one API',
    },
    {
      name: 'a new tenant',
      path: '/app/tenants',
      async type(visit) {
        await visit.press('Create tenant')
        await visit.fill('Your id', 'org_18')
        await visit.fill('Name (optional)', 'Initech')
        await visit.fill('Metadata', '{ "plan": "pro" }')
      },
      submit: 'Create tenant',
      done: 'End all embed sessions',
    },
    {
      name: 'a tenant',
      path: `/app/tenants/${tenantId}`,
      async type(visit) {
        await visit.fill('Name', 'Globex')
        await visit.fill('Metadata', '{ "plan": "free" }')
      },
      submit: 'Save tenant',
      done: 'The tenant is saved.',
    },
    {
      name: 'a new key',
      path: `/app/keys?project=${projectId}&tenant=${tenantId}`,
      async type(visit) {
        await visit.press('Create key')
        await visit.fill('Name (optional)', 'Checkout')
        await visit.page.getByLabel('Expires').selectOption('30')
        await visit.page.getByRole('radiogroup', { name: 'Limits' }).getByText('Own').click()
        await visit.fill('Requests', '250')
        await visit.fill('Metadata (optional)', '{ "plan": "pro" }')
      },
      submit: 'Create key',
      done: 'Your new live key',
    },
    {
      name: 'a key',
      path: pageOf(0),
      async type(visit) {
        await visit.press('Edit')
        await visit.fill('Name (optional)', 'Checkout')
        await visit.page.getByLabel('Expires').selectOption('90')
      },
      submit: 'Save key',
      done: 'The key is saved.',
    },
    {
      name: 'a rotation',
      path: pageOf(1),
      async type(visit) {
        await visit.press('Rotate key')
        await visit.fill('Overlap in hours', '5')
      },
      submit: 'Issue the new key',
      done: 'The new key',
    },
    {
      name: 'a revocation',
      path: pageOf(2),
      async type(visit) {
        await visit.press('Revoke key')
        await visit.fill('Reason (optional)', 'left the company')
      },
      submit: 'Revoke for good',
      done: 'No live node holds it.',
    },
    {
      name: 'an invitation',
      path: '/app/settings/members',
      async type(visit) {
        await visit.press('Invite person')
        await visit.fill('E-mail address', 'zoe@example.com')
        await visit.page.getByLabel('Role', { exact: true }).selectOption('admin')
      },
      submit: 'Send invitation',
      done: 'Copy the link now.',
    },
    {
      name: 'a new secret key',
      path: '/app/settings/secret-keys',
      async type(visit) {
        await visit.press('Create secret key')
        await visit.fill('Name', 'Billing job')
        await visit.page.getByLabel('Mint embed tokens').check()
        await visit.fill('Only from these addresses', '203.0.113.0/24')
      },
      submit: 'Create',
      done: 'Copy the secret key now.',
    },
    {
      name: 'the rotation of a secret key',
      path: '/app/settings/secret-keys',
      async type(visit) {
        await visit.press('Rotate Server')
        await visit.fill('Overlap in hours', '5')
      },
      submit: 'Issue the new key',
      done: 'Copy the secret key now.',
    },
    {
      name: 'the revocation of a secret key',
      path: '/app/settings/secret-keys',
      async type(visit) {
        await visit.press('Revoke Old server')
        await visit.fill('Reason', 'replaced')
        await visit.page.getByLabel('Also revoke every key that was made with it').check()
      },
      submit: 'Revoke secret key',
      done: 'Create secret key',
    },
    {
      name: 'the settings of a workspace',
      path: '/app/settings/workspace',
      async type(visit) {
        await visit.fill('Name', 'Acme Two')
        await visit.fill('Billing address', 'bills@example.com')
      },
      submit: 'Save settings',
      done: 'The settings are saved.',
    },
    {
      name: 'origins',
      path: '/app/settings/embed',
      async type(visit) {
        await visit.press('Add origin')
        await visit.fill('Origin 1', 'https://app.example.com')
      },
      submit: 'Save origins',
      done: 'The origins are saved.',
    },
    {
      name: 'the theme of the widget',
      path: '/app/settings/embed',
      async type(visit) {
        await visit.fill('Accent', '#7a1f5c')
        await visit.fill('Logo text', 'Acme keys')
      },
      submit: 'Save theme',
      done: 'The theme is saved.',
    },
    {
      name: 'your name',
      path: '/app/account',
      type: visit => visit.fill('Name', 'Ann Lee'),
      submit: 'Save name',
      done: 'Your name is saved.',
    },
    {
      name: 'a password',
      isAlone: true,
      path: '/app/account',
      async type(visit) {
        await visit.fill('Current password', madePassword)
        await visit.fill('New password', 'another long enough word')
      },
      submit: 'Change password',
      done: 'Your password is changed.',
    },
    {
      name: 'a new workspace',
      isAlone: true,
      path: '/app/workspaces/new',
      type: visit => visit.fill('Name', 'Acme Labs'),
      submit: 'Create workspace',
      done: 'Your first secret key',
    },
  ]
}
