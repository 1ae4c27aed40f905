import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NodeId } from '@keyrail/contract/feed'
import { makeNodeId } from './node-id.ts'

const valid = new RegExp((NodeId as { pattern?: string }).pattern ?? assert.fail())

test('a node id is valid for any host name', () => {
  for (const host of ['api-7f9c', '', 'büro host/№1', '☃', 'x'.repeat(300), 'a b:c']) {
    for (let round = 0; round < 50; round++) {
      const id = makeNodeId(host, 4_194_304)
      assert.match(id, valid)
      assert.match(id, /:4194304\.[\w.]{8}$/)
    }
  }
  assert.ok(makeNodeId('api-7f9c', 7).startsWith('api-7f9c:7.'))
  assert.ok(makeNodeId('☃', 7).startsWith('node:7.'))
})

test('two processes with the same host and process id have different names', () => {
  const ids = new Set(Array.from({ length: 1_000 }, () => makeNodeId('host', 1)))
  assert.equal(ids.size, 1_000)
})
