import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness

test('both lists show the events between two times, also page by page', async () => {
  const vendor = await makeVendor(harness)
  const { token, userId } = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner' })
  for (let i = 0; i < 6; i++) {
    const at = Date.now() - i * 60_000
    await query(
      `insert into security_events (workspace_id, id, kind, user_id, count, details, created_at, last_at)
       values ($1, $2, 'sign_in', $3, 1, '{}', $4, $4)`,
      [vendor.workspaceId, v7({ msecs: at }), userId, new Date(at)],
    )
  }
  const seen = async (path: string, more = '') =>
    (await ask('GET', `${path}?kind=sign_in&${more}`, { token })).body
  for (const path of ['/v1/security_events', '/v1/auth/security_events']) {
    const { data: all } = await seen(path)
    assert.equal(all.length, 6)
    const bounds = `created_after=${all[4].created_at}&created_before=${all[0].created_at}`
    assert.deepEqual((await seen(path, bounds)).data, all.slice(1, 5))
    const first = await seen(path, `${bounds}&limit=3`)
    const rest = await seen(path, `${bounds}&limit=3&cursor=${first.next_cursor}`)
    assert.deepEqual([...first.data, ...rest.data], all.slice(1, 5))
    assert.equal(rest.has_more, false)
    assert.deepEqual((await seen(path, 'created_before=1969-12-31T00:00:00Z')).data, [])
    assert.equal((await seen(path, 'created_after=yesterday')).code, 'validation_failed')
  }
  const others = `/v1/security_events?user_id=${userId}&created_after=9999-01-01T00:00:00Z`
  assert.deepEqual((await ask('GET', others, { token })).body.data, [])
})
