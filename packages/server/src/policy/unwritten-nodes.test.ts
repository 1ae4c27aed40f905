import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnwrittenNodes } from './unwritten-nodes.ts'

let now = 0
const placeOf = (workspaceId: string, sees = 'both') => ({ workspaceId, projectId: 'p', sees })
const of = (workspaceId: string, node: string, sees?: string) => ({
  ...placeOf(workspaceId, sees),
  node,
  version: 1,
})
const nodesOf = (nodes: UnwrittenNodes, workspaceId: string) =>
  nodes.liveOf(placeOf(workspaceId)).map(({ node }) => node)

test('a workspace with many unwritten nodes pushes out none of another', () => {
  const nodes = new UnwrittenNodes(() => now, 10)
  nodes.note(of('small', 'a'))
  nodes.note(of('small', 'b'))
  for (let i = 0; i < 100; i++) nodes.note(of('large', `n${i}`))
  assert.deepEqual(nodesOf(nodes, 'small'), ['a', 'b'])
  assert.equal(nodes.isUnsure(placeOf('small')), false)
  assert.deepEqual(nodesOf(nodes, 'large'), ['n92', 'n93', 'n94', 'n95', 'n96', 'n97', 'n98', 'n99'])
})

test('a workspace that forgot a live node is unsure for as long as that node may be live', () => {
  const nodes = new UnwrittenNodes(() => now, 1)
  nodes.note(of('w', 'a'))
  nodes.note(of('w', 'b'))
  assert.equal(nodes.isUnsure(placeOf('w')), true)
  nodes.delete(of('w', 'b'))
  assert.equal(nodes.isUnsure(placeOf('w')), true)
  now += 89_999
  assert.equal(nodes.isUnsure(placeOf('w')), true)
  now += 1
  assert.equal(nodes.isUnsure(placeOf('w')), false)
  nodes.note(of('w', 'c'))
  now += 90_000
  nodes.note(of('w', 'd'))
  assert.equal(nodes.isUnsure(placeOf('w')), false, 'c was not live any more')
})

test('a node that is recorded is forgotten, and one that is noted again counts once', () => {
  const nodes = new UnwrittenNodes(() => now, 2)
  nodes.note(of('w', 'a'))
  nodes.note({ ...of('w', 'a'), version: 2 })
  nodes.note(of('w', 'b'))
  assert.deepEqual(
    nodes.liveOf(placeOf('w')).map(({ node, version }) => [node, version]),
    [
      ['a', 2],
      ['b', 1],
    ],
  )
  nodes.delete(of('w', 'a'))
  nodes.delete(of('w', 'a'))
  nodes.note(of('w', 'c'))
  assert.deepEqual(nodesOf(nodes, 'w'), ['b', 'c'])
})

test('invented nodes that see test keys make nothing unsure about live ones', () => {
  const nodes = new UnwrittenNodes(() => now, 10)
  nodes.note(of('w', 'a', 'live'))
  for (let i = 0; i < 100; i++) nodes.note(of('w', `n${i}`, 'test'))
  assert.equal(nodes.isUnsure(placeOf('w', 'test')), true)
  assert.equal(nodes.isUnsure(placeOf('w', 'live')), false)
  assert.deepEqual(
    nodes.liveOf(placeOf('w', 'live')).map(({ node }) => node),
    ['a'],
  )
})
