import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setOrigins } from '../../server/test/embed.ts'
import { openStage } from './stage.ts'

/** The customer portal of the examples, used as its customers do. */

const stage = await openStage()
const { ask } = stage.harness
const root = join(import.meta.dirname, '../../..')
const vendor = await stage.makeVendor()
const made = await ask('POST', '/v1/secret_keys', {
  token: vendor.live,
  body: { env: 'live', preset: 'embed', project_ids: [vendor.projectId] },
})
const { child, origin } = await startPortal()
await setOrigins(stage.harness, vendor, [origin])

async function startPortal(): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, ['bin/node.mjs', 'examples/customer-portal/server.ts'], {
    cwd: root,
    env: {
      ...process.env,
      KEYRAIL_URL: stage.url,
      KEYRAIL_SECRET_KEY: made.body.key,
      KEYRAIL_PROJECT: vendor.projectId,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  while (!output.includes('\n'))
    await Promise.race([once(child.stdout, 'data'), exited.then(() => assert.fail(`it ended: ${output}`))])
  const [found = ''] = /http:\/\/localhost:\d+/.exec(output) ?? []
  return { child, origin: found }
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const pressInDialog = (page: Page, name: string) =>
  page.getByRole('dialog').last().getByRole('button', { name, exact: true }).click()

/** The page of a customer, and what went wrong in it. */
async function signIn(email: string): Promise<{ page: Page; faults: string[] }> {
  const page = await stage.newPage()
  const faults: string[] = []
  page.on('console', message => {
    // A refused call is no fault: the page says why.
    if (message.type() === 'error' && !message.text().includes('401')) faults.push(message.text())
  })
  page.on('pageerror', error => faults.push(String(error)))
  await page.goto(origin)
  await page.getByLabel('E-mail').fill(email)
  await press(page, 'Sign in')
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  return { page, faults }
}

test('customers sign in to the portal, and see their own keys only', async () => {
  for (const email of ['ann@globex.example', 'bob@initech.example']) {
    const { page, faults } = await signIn(email)
    await page.getByText('No keys yet').waitFor()
    await press(page, 'Create key')
    await page.getByLabel('Name').fill(`Key of ${email}`)
    await page.getByLabel('payments:read').check()
    await pressInDialog(page, 'Create key')
    await page.getByLabel('I have stored it').check()
    await press(page, 'Done')
    await page.getByRole('heading', { name: `Key of ${email}` }).waitFor()
    assert.deepEqual(faults, [])
    await page.context().close()
  }
  const { body } = await ask('GET', '/v1/tenants', { token: vendor.live })
  const names = body.data.map(({ external_id, name }: { external_id: string; name: string }) =>
    [external_id, name].join(' '),
  )
  for (const name of ['org_17 Globex', 'org_23 Initech']) assert.ok(names.includes(name), names.join())
})

test('an address that no customer has is refused with a reason, and stays in the field', async () => {
  const page = await stage.newPage()
  await page.goto(origin)
  await page.getByLabel('E-mail').fill('eve@"<i>.example')
  await page.evaluate(`document.forms[0].noValidate = true`)
  await press(page, 'Sign in')
  await page.getByText('No customer has this address.').waitFor()
  assert.equal(await page.getByLabel('E-mail').inputValue(), 'eve@"<i>.example')
  await page.context().close()
})

test('a session that ends in an open form is renewed above it, and what was typed stays', async () => {
  const { page, faults } = await signIn('ann@globex.example')
  await press(page, 'Create key')
  await page.getByLabel('Name').fill('Typed before')
  await page.getByLabel('payments:write').check()
  // Its session at the vendor and its token end together, as over a long lunch.
  await page.context().clearCookies()
  const { body } = await ask('GET', '/v1/tenants?external_id=org_17', { token: vendor.live })
  await ask('POST', `/v1/tenants/${body.data[0].id}/embed_tokens/revoke`, { token: vendor.live })
  await pressInDialog(page, 'Create key')
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await press(page, 'Sign in as ann@globex.example')
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor({ state: 'hidden' })
  assert.equal(await page.getByLabel('Name').inputValue(), 'Typed before')
  assert.equal(await page.getByLabel('payments:write').isChecked(), true)
  await pressInDialog(page, 'Create key')
  await page.getByLabel('I have stored it').check()
  await press(page, 'Done')
  await page.getByRole('heading', { name: 'Typed before' }).waitFor()
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('a session that ends beside the list is renewed, and the list comes back by itself', async () => {
  const { page, faults } = await signIn('bob@initech.example')
  await page.getByRole('heading', { name: 'Key of bob@initech.example' }).waitFor()
  await page.context().clearCookies()
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await press(page, 'Sign in as bob@initech.example')
  await page.getByText('Your session has ended').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Key of bob@initech.example' }).waitFor()
  assert.deepEqual(faults, [])
  await page.context().close()
})

test('a sign-in that fails can be repeated, until the keys come back', async () => {
  const { page, faults } = await signIn('bob@initech.example')
  await page.getByRole('heading', { name: 'Key of bob@initech.example' }).waitFor()
  await page.context().clearCookies()
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  const asked: string[] = []
  await page.route(`${origin}/sign-in`, route => {
    asked.push(route.request().url())
    // First there is no network, then a sign-in that does not last.
    return asked.length === 1
      ? route.abort()
      : asked.length === 2
        ? route.fulfill({ body: '' })
        : route.fallback()
  })
  const signInAgain = () => press(page, 'Sign in as bob@initech.example')
  const failed = page.waitForEvent('requestfailed')
  await signInAgain()
  await failed
  const refused = page.waitForResponse(`${origin}/keyrail-token`)
  await signInAgain()
  await refused
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await signInAgain()
  await page.getByText('Your session has ended').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Key of bob@initech.example' }).waitFor()
  assert.deepEqual(
    faults.filter(fault => !fault.includes('ERR_FAILED')),
    [],
  )
  await page.context().close()
})

test('signing out ends the session, and no other site may frame the portal', async () => {
  const { page } = await signIn('ann@globex.example')
  await press(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in to Acme Payments' }).waitFor()
  assert.equal((await page.request.post(`${origin}/keyrail-token`)).status(), 401)
  const { headers } = await fetch(origin)
  assert.match(headers.get('content-security-policy') ?? '', /; frame-ancestors 'none'$/)
  await page.context().close()
})

test('the server of the portal has thirty lines, and ends on SIGTERM', async () => {
  const text = readFileSync(join(root, 'examples/customer-portal/server.ts'), 'utf8')
  const lines = text.split('\n').filter(line => !/^\s*(\/\/|\/\*\*|$)/.test(line))
  assert.equal(lines.length, 30)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
})
