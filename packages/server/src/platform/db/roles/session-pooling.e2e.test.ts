import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import { type Pooler, startPgbouncer } from '../../../../test/pgbouncer.ts'
import { findPooling } from './session-pooling.ts'

const database = await makeDatabase(testCluster())
const poolers: Pooler[] = []
after(async () => {
  for (const pooler of poolers) await pooler.stop()
  await database.drop()
})

test('Postgres itself is no pooler', async () => {
  assert.equal(await findPooling(database.connection), 'none')
})

for (const mode of ['session', 'transaction'] as const) {
  test(`a pooler of ${mode}s is known as one`, async () => {
    const pooler = await startPgbouncer(database.connection, mode)
    poolers.push(pooler)
    assert.equal(await findPooling(pooler.connection), mode)
  })
}
