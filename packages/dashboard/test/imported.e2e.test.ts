import { test } from 'node:test'
import { drawForeign, openImport } from '../../server/test/importing.ts'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage

test('the page of an imported key says when it came, and its id where it came from', async () => {
  const vendor = await makeVendor(harness)
  const person = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'admin' })
  const { answer, row } = openImport(harness, vendor)
  const given = { name: 'Billing', source_id: 'legacy-17', display_prefix: 'old_7Qx' }
  const { rows } = await answer([row(drawForeign(), { ...given, created_at: '2021-03-04T05:06:07Z' })])
  const visit = await stage.visit(`/app/keys/${rows[0].id}`, { as: person })
  await visit.heading('Billing')
  await visit.text('Source id')
  await visit.text('legacy-17')
  await visit.page.getByRole('cell', { name: 'Imported' }).waitFor()
  await visit.look('key-imported')
  await visit.leave()
})
