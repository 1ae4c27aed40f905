import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CheckingNodes } from './checking-nodes.ts'

const place = { workspaceId: 'w', projectId: 'p', env: 'live' } as const

test('a node counts once, for 90 s after it asked, and only in its own place', () => {
  let now = 0
  const nodes = new CheckingNodes({ monotonic: () => now })
  assert.equal(nodes.note(place, 'a'), 1)
  now = 60_000
  assert.equal(nodes.note(place, 'b'), 2)
  assert.equal(nodes.note(place, 'b'), 2)
  for (const other of [{ workspaceId: 'x' }, { projectId: 'q' }, { env: 'test' as const }])
    assert.equal(nodes.note({ ...place, ...other }, 'a'), 1)
  now = 90_000
  assert.equal(nodes.note(place, 'c'), 2)
  now = 100_000
  assert.equal(nodes.note(place, 'b'), 2)
  now = 190_000
  assert.equal(nodes.note(place, 'c'), 1)
})

test('the nodes of one place are bounded, and so is the number of places', () => {
  const nodes = new CheckingNodes({ monotonic: () => 0 })
  for (let n = 0; n < 3_000; n++) nodes.note(place, `node ${n}`)
  assert.equal(nodes.note(place, 'one more'), 1_000)
  for (let n = 0; n < 1_000; n++) nodes.note({ ...place, workspaceId: `w${n}` }, 'a')
  assert.equal(nodes.note(place, 'a'), 1)
})
