import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { installLines } from '@keyrail/contract/packages'
import { simpleParser } from 'mailparser'
import { readMailRoute } from '../../server/src/platform/mail/route.ts'
import { until } from '../../server/test/until.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { serverSamples } from '../src/screens/get-started/snippets.ts'
import { startFirstServer } from './first-server.ts'
import { openStage, type Visit } from './stage.ts'

const mailFolder = mkdtempSync(join(tmpdir(), 'keyrail-mail-'))
after(() => rmSync(mailFolder, { recursive: true, force: true }))
const stage = await openStage({
  mail: {
    route: readMailRoute(`file:${mailFolder}`),
    from: { name: 'Keyrail', address: 'no-reply@keys.example.com' },
  },
  // Long enough for the server to answer on a slow machine.
  revokeWaitMs: 25_000,
})
const { harness, url } = stage
const password = 'a long enough word'

/** The link in the letter of this kind, as a person finds it in the mail folder. */
async function linkInFolder(kind: string): Promise<string> {
  const find = () => readdirSync(mailFolder).find(one => one.includes(`-${kind}-`) && one.endsWith('.eml'))
  await until(() => find() !== undefined, `the ${kind} is mailed`)
  const { text = '' } = await simpleParser(readFileSync(join(mailFolder, find() ?? '')))
  const [link = ''] = text.match(/http\S+#token=\S+/) ?? []
  return link.slice(new URL(link).origin.length)
}

const shown = async ({ page }: Visit, label: string) =>
  String(await page.getByRole('figure', { name: label, exact: true }).locator('code').last().textContent())

/** Reads what is shown once, says that it is stored, and closes it, which may lead to another page with this title. */
async function store(visit: Visit, next?: string): Promise<string> {
  const secret = await visit.shownOnce()
  await visit.store()
  if (next !== undefined) await visit.heading(next)
  await visit.assertForgotten(secret)
  return secret
}

const call = (api: string, key: string) =>
  fetch(`${api}/payments`, { headers: { authorization: `Bearer ${key}` } })

/** Calls until the API has heard of a change of the key. */
const untilAnswered = (api: string, key: string, status: number) =>
  until(async () => (await call(api, key)).status === status, `the API answers ${status}`)

test('the first hour: from no account to a revoked key and a colleague, by what is shown alone', async () => {
  const visit = await stage.visit('/app/')
  const { page } = visit
  await visit.heading('Create the first account')
  await visit.fill('Name (optional)', 'Ann')
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', password)
  await visit.press('Create account')
  await visit.heading('Create your workspace')
  await visit.fill('Name', 'Acme')
  await visit.press('Create workspace')
  await visit.text('Your first secret key')
  await store(visit, 'Get started')

  await visit.fill('Name of the project', 'Payments')
  await visit.press('Create project')
  await visit.text('1 of 5 steps done')
  await visit.fill('Your own id of the customer', 'org_17')
  await visit.press('Create tenant')
  await visit.text('2 of 5 steps done')
  await visit.press('Create key')
  await visit.text('Copy the key now.')
  const key = await store(visit)
  await visit.text('3 of 5 steps done')
  await visit.press('Create secret key')
  await visit.text('Copy the secret key now.')
  const environment = await shown(visit, 'For the environment of your server')
  await store(visit)
  await visit.text('in a file with the name server.mjs')
  const install = await shown(visit, 'To install')
  assert.ok(install.endsWith(installLines(new URL(page.url()).origin, 'sdk', 'express')), install)
  const api = await startFirstServer({
    environment,
    file: 'server.mjs',
    code: await shown(visit, 'The code of your server'),
    start: await shown(visit, 'To start'),
  })
  await visit.text('4 of 5 steps done')
  assert.equal((await call(api, 'kr_live_unknown')).status, 401)
  assert.equal((await call(api, key)).status, 200)
  await visit.text('All five steps are done.')

  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await page.getByRole('link', { name: 'First key' }).click()
  await visit.press('Rotate key')
  await visit.press('Issue the new key')
  await visit.text('The new key')
  const next = await store(visit)
  await visit.text('Predecessor: ')
  await untilAnswered(api, next, 200)
  assert.equal((await call(api, key)).status, 200, 'the old key works during the overlap')

  await visit.press('Revoke key')
  await visit.text('1 live node')
  await visit.fill('Reason (optional)', 'copied into a chat')
  await visit.press('Revoke for good')
  await visit.text('The node refuses it')
  assert.equal((await call(api, next)).status, 401)
  await visit.press('Done')

  await page.getByRole('link', { name: 'Audit log', exact: true }).click()
  await page.getByRole('button', { name: 'Key revoked', exact: true }).click()
  await visit.text('copied into a chat')
  await visit.press('Verify chain')
  await visit.text('rows hold')

  await page.getByRole('link', { name: 'Members', exact: true }).click()
  await visit.press('Invite person')
  await visit.text('Verify your own address first')
  const verifying = await stage.visit(await linkInFolder('verification'))
  await verifying.press('Verify e-mail address')
  await verifying.heading('Your e-mail address is verified')
  await verifying.leave()
  await visit.fill('E-mail address', 'bob@example.com')
  await page.getByLabel('Role', { exact: true }).selectOption('member')
  await visit.press('Send invitation')
  await visit.text('Copy the link now.')
  await visit.text('This service has no mail server: its letters are files')
  await store(visit)
  await visit.leave()

  const colleague = await stage.visit(await linkInFolder('invitation'))
  await colleague.page.getByText('No, create one').click()
  await colleague.fill('E-mail address', 'bob@example.com')
  await colleague.fill('Password', password)
  await colleague.press('Create an account and accept')
  await colleague.text('You have joined as a member.')
  await colleague.press('Go to Acme')
  await colleague.heading('Overview')
  await colleague.page.getByRole('link', { name: 'Keys', exact: true }).click()
  await colleague.text('You see keys as a member.')
  await colleague.page.getByRole('link', { name: 'First key' }).first().click()
  await colleague.text('You see this key as a member.')
  const writes = colleague.page.locator('main').getByRole('button', { name: /^(Create|Edit|Rotate|Revoke)/ })
  assert.equal(await writes.count(), 0)
  await colleague.leave()
})

test('the first server of each framework runs as it is shown', async () => {
  const vendor = await makeVendor(harness)
  const { ask } = harness
  const made = async (path: string, body: object) =>
    (await ask('POST', path, { token: vendor.live, body: { env: 'live', ...body } })).body.key as string
  const secret = await made('/v1/secret_keys', { preset: 'node', project_ids: [vendor.projectId] })
  const key = await made('/v1/keys', { project_id: vendor.projectId, tenant_id: vendor.tenantId })
  const { external_id: customer } = (
    await ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
  ).body
  const place = { url, projectId: vendor.projectId, env: 'live', secret } as const
  const onNode = serverSamples(place).filter(({ file }) => file === 'server.mjs')
  assert.deepEqual(
    onNode.map(({ name }) => name),
    ['Express', 'Fastify', 'Hono'],
  )
  for (const sample of onNode) {
    const api = await startFirstServer({ environment: `KEYRAIL_SECRET_KEY=${secret}`, ...sample })
    assert.equal((await call(api, 'kr_live_unknown')).status, 401, sample.name)
    const answer = await call(api, key)
    assert.deepEqual([answer.status, await answer.json()], [200, { customer }], sample.name)
  }
})
