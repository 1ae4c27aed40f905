import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Vendor } from '../../server/test/vendor.ts'
import { openStage, type Visit } from './stage.ts'
import { endTokens, makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

/** A customer with one key, which the vendor changes while the customer reads the list. */
async function visitWithKey(more: { scopes?: string[] } = {}) {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server')
  const { name } = (await ask('GET', '/v1/workspace', { token: vendor.live })).body
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor, more).token })
  /** The reads of the page. */
  const read: string[] = []
  visit.page.on('request', request => {
    const [, path] = /\/v1\/embed\/(session|keys)(?:\?|$)/.exec(request.url()) ?? []
    if (request.method() === 'GET' && path !== undefined) read.push(path)
  })
  const settle = (how: 'disable' | 'revoke') =>
    ask('POST', `/v1/keys/${id}/${how}`, { token: vendor.live, body: {} })
  await visit.text('Build server')
  return { vendor, id, vendorName: String(name), visit, read, settle }
}

const dialogOf = ({ page }: Visit) => page.getByRole('dialog')
const alertOf = (visit: Visit, text: string) =>
  dialogOf(visit).getByRole('alert').getByText(text, { exact: true }).waitFor()
const send = (visit: Visit, name: string) =>
  dialogOf(visit).getByRole('button', { name, exact: true }).click()
async function leaveDialog(visit: Visit) {
  await visit.button('Cancel').click()
  await dialogOf(visit).waitFor({ state: 'detached' })
}
const rowOf = ({ page }: Visit) => page.getByRole('listitem').filter({ hasText: 'Build server' })
const suspend = (vendor: Vendor) =>
  ask('POST', `/v1/tenants/${vendor.tenantId}/suspend`, { token: vendor.live, body: {} })

test('a key that the vendor pauses meanwhile is not resumed, and its dialog says who did it', async () => {
  const { visit, vendorName, settle, read } = await visitWithKey()
  await visit.button('Pause Build server').click()
  // The list that the pause brings is not that of the vendor's.
  const listed = visit.page.waitForResponse(/\/v1\/embed\/keys\?/)
  await send(visit, 'Pause Build server')
  await listed
  await rowOf(visit).getByText('Paused by you').waitFor()
  await settle('disable')
  await visit.button('Resume Build server').click()
  read.length = 0
  await send(visit, 'Resume Build server')
  await alertOf(visit, `Paused by ${vendorName}`)
  await visit.look('resume-refused')
  await leaveDialog(visit)
  await rowOf(visit).getByText(`Paused by ${vendorName}`).waitFor()
  assert.equal(await visit.page.getByRole('button', { name: 'Resume Build server' }).count(), 0)
  assert.deepEqual(read, ['session', 'keys'])
  await visit.leave()
})

test('a key that the vendor pauses meanwhile is not replaced, and can still be renamed', async () => {
  const { visit, vendorName, settle } = await visitWithKey()
  await settle('disable')
  await visit.button('Rotate Build server').click()
  await send(visit, 'Rotate')
  await alertOf(visit, `Paused by ${vendorName}`)
  await leaveDialog(visit)
  await rowOf(visit).getByText(`Paused by ${vendorName}`).waitFor()
  for (const action of ['Rotate', 'Pause', 'Resume'])
    assert.equal(await visit.page.getByRole('button', { name: `${action} Build server` }).count(), 0, action)
  await visit.button('Edit Build server').click()
  await visit.page.getByLabel('Name').fill('Deploys')
  await send(visit, 'Save')
  await visit.button('Revoke Deploys').waitFor()
  await visit.text(`Paused by ${vendorName}`)
  await visit.leave()
})

for (const [action, button] of [
  ['Pause', 'Pause Build server'],
  ['Rotate', 'Rotate'],
  ['Edit', 'Save'],
] as const)
  test(`${action}: a key that the vendor revokes meanwhile no longer works, and its row goes`, async () => {
    const { visit, settle } = await visitWithKey()
    await visit.button(`${action} Build server`).click()
    if (action === 'Edit') await visit.page.getByLabel('Name').fill('Deploys')
    await settle('revoke')
    await send(visit, button)
    await alertOf(visit, 'This key no longer works.')
    await leaveDialog(visit)
    await visit.text('No keys yet')
    await visit.leave()
  })

test('a customer who is suspended meanwhile reads so at the first change, and can only look', async () => {
  const { vendor, visit, vendorName, read } = await visitWithKey()
  await visit.button('Pause Build server').click()
  await suspend(vendor)
  read.length = 0
  await send(visit, 'Pause Build server')
  const says = `${vendorName} has suspended your account. All keys are refused until it is resumed.`
  await alertOf(visit, says)
  await visit.look('pause-suspended')
  assert.deepEqual(read, ['session', 'keys'])
  await leaveDialog(visit)
  await visit.page.getByRole('status').filter({ hasText: says }).waitFor()
  await visit.text('Build server')
  assert.equal(await visit.page.getByRole('button').count(), 0)
  await visit.leave()
})

test('with a token that may no longer write, the first change says so, and its buttons go', async () => {
  const more = { scopes: ['keys:read', 'keys:write'] }
  const { vendor, visit } = await visitWithKey(more)
  await visit.button('Pause Build server').click()
  more.scopes.pop()
  await endTokens(stage, vendor)
  await send(visit, 'Pause Build server')
  await alertOf(visit, 'You may no longer do this.')
  await visit.look('not-allowed')
  await leaveDialog(visit)
  await visit.text('Build server')
  assert.equal(await visit.page.getByRole('button').count(), 0)
  await visit.leave()
})

test('networks that a newer token may not change go from an open form, and the rest is saved', async () => {
  const more = { scopes: ['keys:read', 'keys:write', 'network:write'] }
  const { vendor, id, visit } = await visitWithKey(more)
  await visit.button('Edit Build server').click()
  await visit.page.getByLabel('Name').fill('Deploys')
  await visit.page.getByLabel('Works from').fill('203.0.113.0/24')
  more.scopes.pop()
  await endTokens(stage, vendor)
  await send(visit, 'Save')
  await alertOf(visit, 'You may no longer do this.')
  assert.equal(await visit.page.getByLabel('Works from').count(), 0)
  await send(visit, 'Save')
  await visit.button('Edit Deploys').waitFor()
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.deepEqual([body.name, body.allowed_cidrs], ['Deploys', null])
  await visit.leave()
})
