import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { CounterQuota } from './quota.ts'
import type { CounterFacts } from './wholes.ts'

type Env = 'live' | 'test'

const megabytes = 1_000_000
/** What a payer may hold with 200 MB of a server of 1 GB free: a quarter of it, at 400 bytes a unit. */
const payersMost = 125_000

/** A quota that knows what all wholes hold. Places are named after projects, so that each project has its own server. */
function stage(facts: Partial<CounterFacts> = {}) {
  const sums = new Map<string, number>()
  let time = 0
  const asked: string[] = []
  const quota: CounterQuota = new CounterQuota({
    limit: 10_000_000,
    factsOf: async id => ({ isProven: true, projectIds: [], workspaceIds: [id], projects: 0, ...facts }),
    note(tag, adds) {
      asked.push(tag)
      const held = sums.get(tag) ?? 0
      if (adds.length === 0) quota.learn([{ tag, held, isNear: true, added: [] }])
    },
    isNear() {},
    placeOf: tag => tag.split(':')[1] ?? '',
    hasAdded() {},
    monotonic: () => time,
  })
  return {
    asked,
    hold: (workspaceId: string, env: Env, units: number) =>
      void sums.set(`keyrail:{${workspaceId}:${env}}`, units),
    /** @param frees free megabytes of each server, of 1 GB. */
    readMemory: (frees: Record<string, number>) =>
      quota.learnMemory(
        Object.entries(frees).map(([place, free]) => ({
          place,
          most: 1_000 * megabytes,
          used: (1_000 - free) * megabytes,
        })),
      ),
    /** What the first checks make the quota read is known to this one. */
    async unitsOf(workspaceId: string, projectId: string, env: Env = 'live') {
      for (let i = 0; i < 4; i++) {
        quota.unitsOf({ workspaceId, projectId, env })
        await setImmediate()
        time += 2_000
      }
      return quota.unitsOf({ workspaceId, projectId, env })
    },
  }
}

test('a server with memory enough asks for nothing, and bounds no one', async () => {
  const { hold, readMemory, unitsOf, asked } = stage()
  hold('a', 'live', 500_000)
  readMemory({ p: 251 })
  assert.equal(await unitsOf('a', 'p'), undefined)
  assert.deepEqual(asked, [])
})

test('on a server that is nearly full, a payer with more than its part adds nothing', async () => {
  const { hold, readMemory, unitsOf } = stage()
  hold('a', 'live', payersMost - 1)
  hold('b', 'live', payersMost)
  readMemory({ p: 200 })
  assert.deepEqual(
    [await unitsOf('a', 'p'), await unitsOf('b', 'p'), await unitsOf('c', 'p')],
    [undefined, 0, undefined],
  )
  readMemory({ p: 0 })
  hold('d', 'live', 63)
  assert.deepEqual([await unitsOf('a', 'p'), await unitsOf('d', 'p')], [0, undefined])
  readMemory({ p: 251 })
  assert.equal(await unitsOf('b', 'p'), undefined)
})

test('an unproven workspace may hold a tenth of that part', async () => {
  const { hold, readMemory, unitsOf } = stage({ isProven: false })
  hold('a', 'live', payersMost / 10 - 1)
  hold('b', 'live', payersMost / 10)
  readMemory({ p: 200 })
  assert.deepEqual([(await unitsOf('a', 'p')) !== 0, await unitsOf('b', 'p')], [true, 0])
})

test('the workspaces of one person have one part together', async () => {
  const own = Array.from({ length: 25 }, () => randomUUID())
  const { hold, readMemory, unitsOf } = stage({ workspaceIds: own })
  for (const id of own) hold(id, 'live', payersMost / 25 - 1)
  readMemory({ p: 200 })
  assert.equal(await unitsOf(own[0] as string, 'p'), undefined)
  for (const id of own) hold(id, 'live', payersMost / 25)
  assert.equal(await unitsOf(own[0] as string, 'p'), 0)
})

test('a test key takes no room of live checks, and live checks take that of a test key', async () => {
  const { hold, readMemory, unitsOf } = stage()
  readMemory({ p: 200 })
  hold('a', 'test', payersMost)
  assert.deepEqual([await unitsOf('a', 'p', 'live'), await unitsOf('a', 'p', 'test')], [undefined, 0])
  hold('b', 'live', payersMost)
  assert.deepEqual([await unitsOf('b', 'p', 'live'), await unitsOf('b', 'p', 'test')], [0, 0])
})

test('projects that exist have equal parts, whatever invented ones hold', async () => {
  const { hold, readMemory, unitsOf } = stage({ projectIds: ['p', 'q'], projects: 5 })
  hold('a', 'live', payersMost)
  readMemory({ p: 200, invented: 900 })
  // Two servers: a payer may hold twice as much.
  assert.equal(await unitsOf('a', 'p'), undefined)
  hold('a', 'live', 2 * payersMost)
  assert.equal(await unitsOf('a', 'p'), (2 * payersMost) / 5)
  assert.equal(await unitsOf('a', 'invented'), undefined, 'its server has memory enough')
  readMemory({ p: 200, invented: 200 })
  assert.equal(await unitsOf('a', 'invented'), 0)
})
