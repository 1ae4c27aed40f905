import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makersOf } from '../../test/makers.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneEndedSecretKeys } from './room.ts'

const harness = await startHarness()
const { ask, query } = harness
const { makeKey, makeScene, isAlive, revoke } = makersOf(harness)
const now = new Date('2027-03-31T12:00:00.000Z')
await harness.setStoreTime(now)
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000)

const prune = () => doChores(harness.connection, [pruneEndedSecretKeys], harness.deps.log)
const isThere = async (token: string, { id }: { id: string }) =>
  (await ask('GET', `/v1/secret_keys/${id}`, { token })).status === 200
const age = (ids: string[], days: number) =>
  query('update secret_keys set created_at = $2, revoked_at = $2 where id = any($1)', [ids, daysAgo(days)])

test('an ended secret key is deleted after ninety days, once what it made has gone', async () => {
  const { live, owner, child, grandchild, workspaceId } = await makeScene()
  const [old, young] = [await makeKey(live), await makeKey(live)]
  const expired = await makeKey(live)
  await age([old.id, child.id], 91)
  await age([young.id], 89)
  await query('update secret_keys set created_at = $2, expires_at = $2 where id = $1', [
    expired.id,
    daysAgo(91),
  ])
  await prune()
  const seen = async () =>
    await Promise.all([old, expired, young, child, grandchild].map(key => isThere(live, key)))
  assert.deepEqual(await seen(), [false, false, true, true, true])

  // The grandchild is still found through its ended maker.
  assert.equal(await isAlive(grandchild), true)
  await revoke(owner.token, child.id, { cascade: true })
  assert.equal(await isAlive(grandchild), false)
  await age([child.id, grandchild.id], 91)
  await prune()
  // The note of the cascade lasts thirty days.
  assert.deepEqual(await seen(), [false, false, true, true, false])
  await query('delete from endings')
  await prune()
  assert.deepEqual(await seen(), [false, false, true, false, false])
  const orphans = await query(
    `select from credentials c where workspace_id = $1 and kind = 'secret_key'
       and not exists (select from secret_keys k where k.workspace_id = $1 and k.id = c.id)`,
    [workspaceId],
  )
  assert.equal(orphans.length, 0)
})

test('a chain of ended keys goes from its end, within one round', async () => {
  const { live, child, grandchild } = await makeScene()
  const ids = [child.id, grandchild.id]
  let last = grandchild
  for (let depth = 0; depth < 5; depth += 1) {
    last = await makeKey(last.key)
    ids.push(last.id)
  }
  await age(ids, 91)
  await prune()
  assert.equal(await isThere(live, child), false)
})
