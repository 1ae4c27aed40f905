import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLog } from '@keyrail/contract/vendor/audit'
import fc from 'fast-check'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const { live, workspaceId, tenantId } = vendor
const admin = await makePerson(query, { workspaceId, role: 'admin' })
for (let at = 0; at < 12; at++) {
  const token = at % 2 === 0 ? live : admin.token
  await ask('PATCH', `/v1/tenants/${tenantId}`, { token, body: { name: `Name ${at}` } })
  await issueKey(harness, { ...vendor, live: token }, { env: at % 3 === 0 ? 'test' : 'live' })
}
// A row each ten seconds, of processes whose clocks and calls differ by up to a minute.
await query(
  `update audit_logs set created_at = timestamptz '2026-03-01T12:00:00Z' + make_interval(secs => seq * 10 + (seq * 37) % 60)
   where workspace_id = $1`,
  [workspaceId],
)

const read = (filter: string, token = live) => ask('GET', `/v1/audit_logs?${filter}`, { token })
/** Reads a list to its end, in pages of seven. */
async function walk(filter: string, token = live): Promise<AuditLog[]> {
  const rows: AuditLog[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body }: Awaited<ReturnType<typeof read>> = await read(
      `${filter}&limit=7${cursor && `&cursor=${cursor}`}`,
      token,
    )
    assert.equal(status, 200, JSON.stringify(body))
    rows.push(...body.data)
    cursor = body.next_cursor
  }
  return rows
}

const filters = [
  '',
  '&action=api_key.created',
  '&env=test',
  `&actor_id=${admin.userId}`,
  `&target_id=${tenantId}`,
  `&target_id=${tenantId}&actor_id=${admin.userId}`,
]

test('between two times the log has exactly its rows, beside each filter and in both orders', async () => {
  const whole = new Map<string, AuditLog[]>()
  for (const token of [live, vendor.test])
    for (const filter of filters) whole.set(token + filter, await walk(filter.slice(1), token))
  const start = Date.parse('2026-03-01T12:00:00Z')
  const second = fc.option(fc.integer({ min: -120, max: 60 * 12 }), { nil: null })
  await fc.assert(
    fc.asyncProperty(
      second,
      second,
      fc.constantFrom(...filters),
      fc.constantFrom('asc', 'desc'),
      fc.constantFrom(live, vendor.test),
      async (from, before, filter, order, token) => {
        const ms = (seconds: number) => start + seconds * 1_000
        const bounds = [
          ...(from === null ? [] : [`created_after=${new Date(ms(from)).toISOString()}`]),
          ...(before === null ? [] : [`created_before=${new Date(ms(before)).toISOString()}`]),
        ].join('&')
        const wanted = (whole.get(token + filter) ?? []).filter(({ created_at }) => {
          const at = Date.parse(created_at)
          return (from === null || at >= ms(from)) && (before === null || at < ms(before))
        })
        const rows = await walk(`${bounds}${filter}&order=${order}`.replace(/^&/, ''), token)
        assert.deepEqual(rows, order === 'asc' ? wanted : wanted.toReversed())
      },
    ),
    { numRuns: 60 },
  )
})

test('an invalid time is refused by its name', async () => {
  for (const name of ['created_after', 'created_before'])
    for (const text of ['yesterday', '2026-02-30T00:00:00Z', '2026-03-01', '']) {
      const { status, body } = await read(`${name}=${text}`)
      assert.deepEqual([text, status, body.code, body.errors[0].path], [text, 400, 'validation_failed', name])
    }
  for (const at of ['9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z'])
    assert.equal((await read(`created_after=${at}&created_before=${at}`)).status, 200)
})

test('a log that lacks rows or its head is still read between two times', async () => {
  const of = await makeVendor(harness)
  const rows = async () => (await read('created_after=2020-01-01T00:00:00Z', of.live)).body.data
  const whole = await rows()
  await query('delete from audit_logs where workspace_id = $1 and seq = 3', [of.workspaceId])
  await query('delete from audit_heads where workspace_id = $1', [of.workspaceId])
  assert.deepEqual(
    await rows(),
    whole.filter(({ seq }: AuditLog) => seq !== 3),
  )
})
