import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness

test('a person tests a key, and reads each reason with the nodes that answer as before', async () => {
  const vendor = await makeVendor(harness)
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'member', name: 'Ann' })
  const { live, projectId } = vendor
  const { id } = await issueKey(harness, vendor, { name: 'Billing', scopes: ['read'] })
  const get = (path: string) =>
    ask('GET', `/v1/policy/${path}project_id=${projectId}&node=api-1`, { token: live })
  const { version } = (await get('snapshot?')).body
  await get(`delta?since=${version}&`)
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.heading('Billing')
  await visit.press('Test key')
  await visit.text('A request with this key passes.')
  await visit.text('The live node holds its last change.')
  await visit.page.getByRole('combobox', { name: 'Scopes that the request needs (optional)' }).fill('write')
  await visit.page.keyboard.press('Enter')
  await visit.press('Test key')
  await visit.text('Refused: Missing scope')
  await ask('POST', `/v1/keys/${id}/disable`, { token: live, body: { reason: 'unpaid' } })
  await visit.press('Test key')
  await visit.text('Refused: Paused key')
  await visit.text('These still answer as before the change:')
  const reasons = visit.page.getByRole('list', { name: 'Reasons for a refusal' })
  await reasons.getByText('The key lacks "write". It has "read".').waitFor()
  await visit.page.getByText('api-1').waitFor()
  await visit.look('key-test')
  await visit.leave()
})
