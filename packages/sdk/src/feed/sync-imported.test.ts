import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type FeedService, startFeedService } from '../../test/feed-service.ts'
import { deltaOf, snapshotOf } from '../../test/hostile/node.ts'
import { lookupHash, policyKey } from '../../test/keys.ts'
import { openNode } from '../../test/node.ts'

let service: FeedService
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(() => service.close())

const features = ['imported']
const old = { ...policyKey('kr_live_old', 1), lookup_hash: lookupHash('old') }

async function start(more: object) {
  const node = openNode(service)
  service.instead.push(snapshotOf(service, { keys: [old], features, ...more }))
  assert.equal(await node.poll(), 'snapshot')
  const learns = async (more: object) => {
    const delta = { features, version: ++service.version, since: service.version - 1, ...more }
    service.instead.push(deltaOf(service, [], delta))
    await node.poll()
  }
  return { ...node, learns }
}

test('a snapshot and a delta say whether the project takes keys from elsewhere', async () => {
  const { code, learns, served } = await start({})
  assert.equal(code('old'), 'malformed_key')
  const revision = served.store?.revision ?? 0
  await learns({ accepts_imported: true })
  assert.deepEqual([code('old'), code('new')], ['valid', 'unknown_key'])
  assert.ok((served.store?.revision ?? 0) > revision, 'the disk snapshot is written anew')
  await learns({ accepts_imported: false })
  assert.equal(code('old'), 'malformed_key')
  await learns({ accepts_imported: true })
  await learns({ features: undefined })
  assert.equal(code('old'), 'valid', 'a process of before the feature does not say')
})

test('what cannot be read of keys from elsewhere is reported, and counts as absent', async () => {
  for (const accepts_imported of [1, 'true', null, []]) {
    const { code, learns, odd } = await start({ accepts_imported })
    assert.equal(code('old'), 'malformed_key')
    await learns({ accepts_imported: true })
    assert.equal(code('old'), 'valid')
    await learns({ accepts_imported })
    assert.equal(code('old'), 'malformed_key')
    assert.deepEqual(
      odd.map(({ code, message }) => [code, message.startsWith('accepts_imported cannot be read')]),
      [
        ['unreadable_key', true],
        ['unreadable_key', true],
      ],
    )
  }
})

test('the first answer ends the doubt that an old file left about keys from elsewhere', async () => {
  for (const project_deleted of [false, true]) {
    const { code, learns, served } = await start({ features: undefined })
    const { store } = served
    assert.ok(store)
    store.acceptsImported = undefined
    assert.equal(code('old'), 'not_ready')
    const { revision } = store
    await learns({ features: undefined, project_deleted })
    assert.equal(code('old'), 'malformed_key')
    assert.ok(store.revision > revision, 'the disk snapshot is written anew')
  }
})
