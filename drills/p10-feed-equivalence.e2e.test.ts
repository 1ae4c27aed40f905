import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSeeds } from './harness/feed-lanes.ts'
import type { Tally } from './harness/feed-seed.ts'

/** The whole drill, of longer histories, is `npm run drills -- p10`. */
const sample = { cycles: 200, commands: 14, say: () => {} }
const first = Date.now() % 1_000_000

test(`after a poll a node holds the service’s policy, whatever happened (seeds from ${first})`, async () => {
  const tally: Tally = new Map()
  const { ended, broken } = await runSeeds({ ...sample, first, tally })
  assert.deepEqual(broken, [])
  assert.equal(ended, sample.cycles)
  const expected = ['unchanged', 'delta', 'snapshot', 'snapshot of several pages', 'network_error']
  assert.ok(tally.has('restart from disk'))
  for (const outcome of expected) assert.ok(tally.has(`→ ${outcome}`), `no poll ended in ${outcome}`)
})

test('the drill detects a feed that forgets revocations, and names the seed', async () => {
  const onAnswer = (text: string) => {
    const body = JSON.parse(text)
    return JSON.stringify({
      ...body,
      ...(body.changes && {
        changes: body.changes.filter(({ change }: { change: string }) => change !== 'tombstone'),
      }),
    })
  }
  const { broken } = await runSeeds({
    ...sample,
    cycles: 10,
    commands: 40,
    first: 1,
    tally: new Map(),
    onAnswer,
  })
  assert.match(broken.join('\n'), /^seed \d+, command \d+ \(poll.*still holds key/m)
})
