import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsInRoll, connectionsOfAll, mostProcesses, servicesFor } from './connection-need.ts'

const of = (processes: number, databasePool = 6) => ({ databasePool, processes })

test('processes divide the pool, and each has the other connections by itself', () => {
  assert.deepEqual(
    [1, 2, 4, 12].map(n => connectionsOfAll(of(n))),
    [20, 34, 64, 192],
  )
  assert.deepEqual(
    [1, 2, 4].map(n => connectionsInRoll(of(n))),
    [20, 51, 80],
  )
})

test('as many services fit as their connections, all processes of one counted', () => {
  assert.deepEqual(servicesFor(97, of(1)), { need: 20, fits: 4 })
  assert.deepEqual(servicesFor(97, of(2)), { need: 34, fits: 2 })
  assert.deepEqual(servicesFor(97, of(8)), { need: 128, fits: 0 })
})

test('processes that follow the machine leave connections for one more, and are at least one', () => {
  assert.equal(mostProcesses(97, of(64)), 5)
  assert.equal(mostProcesses(97, of(2)), 2)
  assert.equal(mostProcesses(10, of(8)), 1)
  const most = mostProcesses(500, of(64))
  assert.ok(connectionsInRoll(of(most)) <= 500 && connectionsInRoll(of(most + 1)) > 500)
})
