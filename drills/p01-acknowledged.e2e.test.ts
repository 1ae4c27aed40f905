import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeded } from '../packages/server/test/seeded.ts'
import { type Crash, runCrashes, type Victim, victims } from './harness/crashes.ts'
import { points } from './harness/points.ts'

const seed = Date.now() % 1_000_000
const random = seeded(seed)
const names = Object.keys(points)

/** The whole drill is `npm run drills -- p1`; here each victim is killed once, at a point that the seed picks. */
const sample = victims.map((victim, cycle): Crash => ({ cycle, point: random.pick(names), victim }))

test(`a kill during mutations loses nothing acknowledged and leaves nothing half (seed ${seed})`, async () => {
  const { tallies, broken } = await runCrashes(sample, { seed, clients: 16, durable: false, say: () => {} })
  assert.deepEqual(broken, [])
  const acknowledged = [...tallies.values()].reduce((sum, tally) => sum + tally.acknowledged, 0)
  assert.ok(acknowledged >= 16 * victims.length, `only ${acknowledged} mutations were acknowledged`)
})

test('the drill detects a Postgres that reports a commit before it is written', async () => {
  const crash = { cycle: 0, point: 'commit begun', victim: 'postmaster' as Victim }
  const { broken } = await runCrashes([crash], {
    seed: 1,
    clients: 4,
    durable: false,
    settings: { synchronous_commit: 'off', wal_writer_delay: '10s' },
    say: () => {},
  })
  assert.match(broken.join('\n'), /acknowledged, 0 audit rows/)
})
