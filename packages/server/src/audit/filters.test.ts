import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLog } from '@keyrail/contract/vendor/audit'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId } = vendor
const admin = await makePerson(query, { workspaceId, role: 'admin' })

const read = (filter: string, token = live) => ask('GET', `/v1/audit_logs?${filter}`, { token })
const rowsOf = async (filter: string, token = live): Promise<AuditLog[]> =>
  (await read(filter, token)).body.data
const seqsOf = (rows: AuditLog[]) => rows.map(({ seq }) => seq)

/** Rows of both environments and of none, by two actors. */
const keys = [
  await issueKey(harness, vendor),
  await issueKey(harness, vendor, { env: 'test' }),
  await issueKey(harness, { ...vendor, live: admin.token }),
]
for (const { id } of keys) await ask('PATCH', `/v1/keys/${id}`, { token: live, body: { name: 'Renamed' } })
await ask('POST', `/v1/keys/${keys[0]?.id}/revoke`, { token: admin.token })
await ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token: admin.token, body: { name: 'Renamed' } })

const whole = await rowsOf('limit=200')

/** Reads a list to its end in pages of two. */
async function walk(filter: string, token = live): Promise<AuditLog[]> {
  const rows: AuditLog[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body }: Awaited<ReturnType<typeof read>> = await read(
      `${filter}&limit=2${cursor && `&cursor=${cursor}`}`,
      token,
    )
    rows.push(...body.data)
    cursor = body.next_cursor
  }
  return rows
}

const matches: Record<string, (row: AuditLog) => boolean> = {
  '': () => true,
  'action=api_key.updated': row => row.action === 'api_key.updated',
  'action=project.deleted': () => false,
  'env=live': row => row.env === 'live',
  'env=test': row => row.env === 'test',
  [`actor_id=${admin.userId}`]: row => row.actor_id === admin.userId,
  [`actor_id=${admin.userId.toUpperCase()}`]: row => row.actor_id === admin.userId,
  [`target_id=${keys[0]?.id}`]: row => row.target_id === keys[0]?.id,
  'action=api_key.created&env=live': row => row.action === 'api_key.created' && row.env === 'live',
  [`action=api_key.created&actor_id=${admin.userId}`]: row =>
    row.action === 'api_key.created' && row.actor_id === admin.userId,
  [`env=live&actor_id=${admin.userId}`]: row => row.env === 'live' && row.actor_id === admin.userId,
  [`target_id=${keys[0]?.id}&action=api_key.revoked&env=live&actor_id=${admin.userId}`]: row =>
    row.target_id === keys[0]?.id && row.action === 'api_key.revoked',
  [`target_id=${keys[0]?.id}&env=test`]: () => false,
}

for (const [filter, isWanted] of Object.entries(matches)) {
  const fields = filter.replaceAll(/=[^&]*/g, '').replaceAll('&', ', ')
  const name = `${fields || 'nothing'}${filter.includes('=live') ? ' live' : ''}`
  test(`filtered by ${name}, the log has exactly its rows, in both orders`, async () => {
    const wanted = whole.filter(isWanted)
    assert.deepEqual(await walk(filter), wanted)
    assert.deepEqual(await walk(`${filter}&order=desc`), wanted.toReversed())
  })
}

test('a bound leaves out its own row and all beyond it, also beside a filter', async () => {
  const last = whole.at(-1)?.seq ?? 0
  assert.deepEqual(seqsOf(await rowsOf(`order=desc&before_seq=${last - 1}&limit=1`)), [last - 2])
  assert.deepEqual(await rowsOf('order=desc&before_seq=1'), [])
  const updated = seqsOf(whole.filter(({ action }) => action === 'api_key.updated'))
  const filter = 'action=api_key.updated'
  assert.deepEqual(seqsOf(await rowsOf(`${filter}&order=desc&before_seq=${updated.at(-1)}`)), [
    ...updated.slice(0, -1).reverse(),
  ])
  assert.deepEqual(seqsOf(await rowsOf(`${filter}&after_seq=${updated[0]}`)), updated.slice(1))
})

test('the bound of the other order is refused by name, and so is its cursor', async () => {
  const { next_cursor: rising } = (await read('limit=1')).body
  const { next_cursor: falling } = (await read('limit=1&order=desc')).body
  for (const [filter, path] of [
    ['before_seq=5', 'before_seq'],
    ['order=asc&before_seq=5', 'before_seq'],
    ['order=asc&after_seq=1&before_seq=5', 'before_seq'],
    ['order=desc&after_seq=5', 'after_seq'],
    ['order=desc&after_seq=1&before_seq=5', 'after_seq'],
    [`order=desc&cursor=${rising}`, 'cursor'],
    [`cursor=${falling}`, 'cursor'],
  ]) {
    const { status, body } = await read(filter ?? '')
    assert.deepEqual(
      [filter, status, body.code, body.errors[0].path],
      [filter, 400, 'validation_failed', path],
    )
  }
})

test('a filter shows a test credential no row that its plain list lacks', async () => {
  const visible = await walk('', vendor.test)
  assert.ok(visible.length < whole.length)
  assert.deepEqual(await walk('order=desc', vendor.test), visible.toReversed())
  for (const filter of Object.keys(matches).filter(filter => !filter.includes('env=live'))) {
    const isWanted = matches[filter] ?? (() => false)
    assert.deepEqual(
      await walk(`${filter}&order=desc`, vendor.test),
      visible.filter(isWanted).toReversed(),
      filter,
    )
  }
  const refused = await read('env=live', vendor.test)
  assert.deepEqual([refused.status, refused.body.code], [403, 'env_mismatch'])
})
