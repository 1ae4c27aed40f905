import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seeded } from '../packages/server/test/seeded.ts'
import { runOutage } from './harness/outage-run.ts'
import { outages } from './harness/outages.ts'

const seed = Date.now() % 1_000_000

/** The whole drill, which also judges the time, is `npm run drills -- p15`. */
const options = {
  seed,
  clients: 8,
  outMs: 4_500,
  limits: { answerMs: Number.POSITIVE_INFINITY, recoveryMs: Number.POSITIVE_INFINITY },
  waitOut: false,
}

const others = Object.entries(outages)
  .filter(([name, { needsSmallDisk }]) => !needsSmallDisk && name !== 'Postgres frozen amid deletions')
  .map(([name]) => name)

for (const name of ['Postgres frozen amid deletions', seeded(seed).pick(others)]) {
  test(`${name}: every request is answered, nothing acknowledged is lost (seed ${seed})`, async () => {
    const { broken, health, readiness } = await runOutage(name, options)
    assert.deepEqual(broken, [])
    assert.equal(health, '200')
    if (outages[name]?.extent === 'store gone') assert.equal(readiness, '503')
  })
}
