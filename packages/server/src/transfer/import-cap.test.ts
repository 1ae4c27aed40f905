import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { openImport } from '../../test/importing.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness({ maxActiveKeysPerTenant: 3 })

test('rows beyond the cap are invalid, and keys that have expired do not count', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  await issueKey(harness, vendor)
  const ended = { expires_at: '2020-01-01T00:00:00Z' }
  const { rows, created } = await answer([row(), row(undefined, ended), row(), row(), row(undefined, ended)])
  assert.equal(created, 4)
  const [fault] = rows[3].errors
  assert.deepEqual([rows[3].status, fault.path], ['invalid', 'tenant_id'])
  assert.match(fault.message, /\b3 active keys\b/)
})

test('concurrent imports make keys exactly up to the cap', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  const answers = await Promise.all(Array.from({ length: 4 }, () => answer([row(), row()])))
  assert.equal(
    answers.reduce((sum, { created }) => sum + created, 0),
    3,
  )
})

test('a row counts for the cap also behind an invalid one with its digest', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  await answer([row(), row(), row()])
  const last = row()
  const rows = [{ ...last, tenant_id: randomUUID() }, last]
  const { created, invalid } = await answer(rows)
  assert.deepEqual([created, invalid], [0, 2])
})

test('an imported key counts for the next key that is made', async () => {
  const vendor = await makeVendor(harness)
  const { answer, row } = openImport(harness, vendor)
  assert.equal((await answer([row(), row(), row()])).created, 3)
  const { projectId, tenantId, live } = vendor
  const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
  const { status } = await harness.ask('POST', '/v1/keys', { token: live, body })
  assert.equal(status, 409)
})
