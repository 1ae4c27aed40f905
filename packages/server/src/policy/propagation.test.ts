import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awaitFleet, type FleetNeeds } from './propagation.ts'
import { createWaits, type Waits } from './waits.ts'

const question = { workspaceId: '', projectId: '', env: 'live', version: 7, raisedAt: null } as never

/** Waits for the nodes that `count` finds, as long as a day. */
const waitFor = (waits: Waits, count: () => Promise<object>) =>
  awaitFleet(
    {
      config: { revokeWaitMs: 86_400_000 },
      clock: { now: () => 0, monotonic: () => 0 },
      policy: { waits, nodes: { count } },
    } as unknown as FleetNeeds,
    question,
    new AbortController().signal,
  )

test('a process that ends does not wait for nodes that its database cannot count', async () => {
  const waits = createWaits()
  const asked = Promise.withResolvers<void>()
  const waiting = waitFor(waits, async () => {
    asked.resolve()
    throw new Error('the database hangs')
  })
  await asked.promise
  await waits.ended()
  const { acknowledged, version, nodes_acknowledged } = await waiting
  assert.deepEqual([acknowledged, version, nodes_acknowledged], [false, 7, 0])
})

test('a process that ends waits for the nodes while its database counts them', async () => {
  const waits = createWaits()
  let looks = 0
  const waiting = waitFor(waits, async () => {
    looks += 1
    return { nodes: 1, acknowledged: looks < 5 ? 0 : 1, pending: [], raisedAt: null, isUnsure: false }
  })
  await waits.ended()
  assert.equal((await waiting).acknowledged, true)
})
