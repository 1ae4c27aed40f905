import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFeed, changesOf, idsOf } from '../../test/feed.ts'
import { startHarness } from '../../test/harness.ts'
import { drawForeign, openImport } from '../../test/importing.ts'
import { issueKey, makeVendor } from '../../test/vendor.ts'
import { tokenDigest } from '../platform/crypto/token.ts'

const harness = await startHarness()
const { ask } = harness
const get = askFeed(harness)
const knows = '&features=imported'

const setUp = async () => {
  const vendor = await makeVendor(harness)
  return { vendor, own: (await issueKey(harness, vendor)).id as string, ...openImport(harness, vendor) }
}

test('imported keys are for nodes alone that know them, in snapshots and deltas', async () => {
  const { vendor, own, answer, row } = await setUp()
  const key = drawForeign()
  const [{ id }] = (await answer([row(key)])).rows
  const { body } = await get(vendor, 'snapshot', knows)
  assert.deepEqual(idsOf(body).toSorted(), [own, id].toSorted())
  const sent = body.keys.find((one: { key_id: string }) => one.key_id === id)
  assert.equal(sent.lookup_hash, tokenDigest(key).toString('base64'))
  for (const features of ['', '&features=cidr,suspended'])
    assert.deepEqual(idsOf((await get(vendor, 'snapshot', features)).body), [own])
  const [{ id: later }] = (await answer([row()])).rows
  const since = `&since=${body.version}`
  assert.deepEqual(changesOf((await get(vendor, 'delta', knows + since)).body), [['upsert', later]])
  const other = (await get(vendor, 'delta', `&features=cidr${since}`)).body
  assert.deepEqual(changesOf(other), [['tombstone', later]])
})

test('the first import makes the next delta a snapshot that accepts imported keys', async () => {
  const { vendor, answer, row } = await setUp()
  const { version, accepts_imported } = (await get(vendor, 'snapshot', knows)).body
  assert.equal(accepts_imported, undefined)
  await answer([row()])
  const { body } = await get(vendor, 'delta', `${knows}&since=${version}`)
  assert.deepEqual([body.object, body.version, body.accepts_imported], ['policy_snapshot', version + 1, true])
})

test('every body says that imported keys are accepted, to nodes that know what that means', async () => {
  const { vendor, answer, row } = await setUp()
  await answer([row()])
  const { version } = (await get(vendor, 'snapshot', knows)).body
  await answer([row()])
  const bodiesOf = async (features: string) => [
    (await get(vendor, 'snapshot', features)).body,
    (await get(vendor, 'snapshot', `${features}&max_keys=1`)).body,
    (await get(vendor, 'delta', `${features}&since=${version}`)).body,
    (await get(vendor, 'delta', `${features}&since=${version + 1}`)).body,
  ]
  for (const body of await bodiesOf(knows)) assert.equal(body.accepts_imported, true, body.object)
  for (const features of ['', '&features=cidr'])
    for (const body of await bodiesOf(features)) assert.equal(body.accepts_imported, undefined, body.object)
})

test('a revoked imported key is a tombstone with its cause, and its successor a key made here', async () => {
  const { vendor, answer, row } = await setUp()
  const { rows } = await answer([row(), row()])
  const { version } = (await get(vendor, 'snapshot', knows)).body
  await ask('POST', `/v1/keys/${rows[0].id}/revoke`, { token: vendor.live })
  const rotated = await ask('POST', `/v1/keys/${rows[1].id}/rotate`, { token: vendor.live })
  assert.deepEqual([rotated.status, rotated.body.imported_at, rotated.body.source_id], [200, null, null])
  const { body } = await get(vendor, 'delta', `${knows}&since=${version}`)
  assert.deepEqual(
    new Map(body.changes.map((one: Record<string, unknown>) => [one.key_id, one.cause ?? one.change])),
    new Map([
      [rows[0].id, 'revoked'],
      [rows[1].id, 'upsert'],
      [rotated.body.id, 'upsert'],
    ]),
  )
  assert.ok(idsOf((await get(vendor, 'snapshot')).body).includes(rotated.body.id))
})
