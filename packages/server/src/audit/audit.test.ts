import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask } = harness
const vendor = await makeVendor(harness)
const { live } = vendor

interface Row {
  seq: number
  action: string
  env: string | null
  target_type: string
  payload: Record<string, unknown> | null
}
const read = async (
  filter = '',
  token = live,
): Promise<{ data: Row[]; has_more: boolean; next_cursor: string | null }> =>
  (await ask('GET', `/v1/audit_logs?${filter}`, { token })).body

test('the audit log is listed oldest first after a seq, without gaps or duplicates', async () => {
  const whole = (await read('limit=200')).data
  assert.deepEqual(
    whole.map(row => row.seq),
    whole.map((_, i) => i + 1),
  )
  const walked: number[] = []
  let cursor = ''
  for (;;) {
    const page: Awaited<ReturnType<typeof read>> = await read(`limit=2${cursor}`)
    walked.push(...page.data.map(row => row.seq))
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  assert.deepEqual(
    walked,
    whole.map(row => row.seq),
  )
  assert.deepEqual(
    (await read('after_seq=2&limit=1')).data.map(row => row.seq),
    [3],
  )
  assert.deepEqual((await read('after_seq=9007199254740')).data, [])
})

test('the hash of each row covers the hash before it', async () => {
  const rows = (await ask('GET', '/v1/audit_logs?limit=200', { token: live })).body.data
  for (const [i, row] of rows.entries()) if (i > 0) assert.equal(row.prev_hash, rows[i - 1].hash)
})

test('the audit row of a creation has every public field and no secret', async () => {
  const key = await issueKey(harness, vendor, { meta: { a: 1 } })
  const { key: secret, ...fields } = key
  const row = (await read('limit=200')).data.findLast(row => row.action === 'api_key.created')
  assert.deepEqual(row?.payload, fields)
  assert.equal(row?.env, 'live')
  assert.ok(!JSON.stringify(await read('limit=200')).includes(secret))
})

test('a test credential sees no audit row of live and no payload about a person', async () => {
  const liveKey = await issueKey(harness, vendor)
  const testKey = await issueKey(harness, vendor, { env: 'test' })
  const tenant = await ask('POST', '/v1/tenants', { token: live, body: { external_id: 'gone' } })
  await issueKey(harness, vendor, { tenant_id: tenant.body.id })
  await ask('DELETE', `/v1/tenants/${tenant.body.id}`, { token: live })

  const rows = (await read('limit=200', vendor.test)).data
  const text = JSON.stringify(rows)
  assert.ok(text.includes(testKey.id) && !text.includes(liveKey.id))
  assert.ok(rows.every(row => row.env !== 'live'))
  const seqs = rows.map(row => row.seq)
  assert.ok(
    seqs.some((seq, i) => i > 0 && seq !== (seqs[i - 1] ?? 0) + 1),
    'the view has gaps',
  )
  assert.ok(rows.filter(row => row.target_type === 'workspace').every(row => row.payload === null))
  const deleted = rows.find(row => row.action === 'tenant.deleted')
  assert.deepEqual(deleted?.payload, { keys_revoked: { test: 0 } })
})

test('live and test credentials can verify the chain, which returns counts and hashes only', async () => {
  const { body } = await ask('GET', '/v1/audit_logs/chain', { token: vendor.test })
  const rows = (await read('limit=200')).data
  assert.deepEqual(
    [body.valid, body.checked, body.first_bad_seq, body.reason, body.head_seq],
    [true, rows.length, null, null, rows.length],
  )
  assert.match(body.head_hash, /^[0-9a-f]{64}$/)
})

test('concurrent verifications of a workspace share a run; workspaces take turns', async () => {
  const others = await Promise.all(Array.from({ length: 5 }, () => makeVendor(harness)))
  const chain = (token: string) => ask('GET', '/v1/audit_logs/chain', { token })
  // One batch of the credential lane authenticates all of them, so they start together; two run at a time.
  const answers = await Promise.all([live, live, ...others.map(other => other.live)].map(chain))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
})
