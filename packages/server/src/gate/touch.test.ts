import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makePerson } from '../../test/people.ts'
import { openBarrier } from '../../test/races/barrier.ts'
import { until } from '../../test/until.ts'
import { makeSecretKey, makeVendor } from '../../test/vendor.ts'

const harness = await startHarness()
const { ask, query } = harness
const barrier = await openBarrier(harness)

interface Used {
  id: string
  token: string
}

/** Makes two credentials of a table and says which of them were noted as used. */
const kinds = {
  secret_keys: {
    async make(): Promise<Used[]> {
      const vendor = await makeVendor(harness)
      const made = [await makeSecretKey(harness, vendor), await makeSecretKey(harness, vendor)]
      return made.map(({ id, key }) => ({ id, token: key }))
    },
    noted: 'last_used_at is not null',
  },
  sessions: {
    async make(): Promise<Used[]> {
      const { workspaceId } = await makeVendor(harness)
      const person = { workspaceId, role: 'owner' } as const
      const made = [await makePerson(query, person), await makePerson(query, person)]
      const ids = made.map(({ sessionId }) => sessionId)
      await query(
        "update sessions set last_seen_at = service_now() - interval '5 minutes' where id = any($1)",
        [ids],
      )
      return made.map(({ sessionId, token }) => ({ id: sessionId, token }))
    },
    noted: "last_seen_at > service_now() - interval '4 minutes'",
  },
}

for (const [table, { make, noted }] of Object.entries(kinds)) {
  const isNoted = async ({ id }: Used) =>
    (await query(`select from ${table} where id = $1 and ${noted}`, [id])).length > 0
  const use = async ({ token }: Used) =>
    assert.equal((await ask('GET', '/v1/workspace', { token })).status, 200)
  const anyWaits = async () =>
    (
      await query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    ).length > 0

  test(`a use of ${table} is noted beside a locked one, and waits for none`, async () => {
    // An end of many credentials locks their rows in another order.
    for (const held of [0, 1]) {
      const made = await make()
      const [locked, free] = [made[held], made[1 - held]]
      assert.ok(locked && free)
      await barrier.hold(`select from ${table} where id = $1 for update`, [locked.id])
      try {
        await Promise.all([use(locked), use(free)])
        await until(async () => (await isNoted(free)) || (await anyWaits()))
        assert.deepEqual([await anyWaits(), await isNoted(free)], [false, true])
      } finally {
        await barrier.release()
      }
      assert.equal(await isNoted(locked), false)
    }
  })
}
