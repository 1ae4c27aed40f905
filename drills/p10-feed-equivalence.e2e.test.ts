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
  for (const kind of [
    'restart from disk',
    'pause',
    'suspend',
    'endSuspension',
    'changeSome',
    'changeAll',
    'networks',
  ])
    assert.ok(tally.has(kind), `nothing was done by ${kind}`)
  for (const outcome of expected) assert.ok(tally.has(`→ ${outcome}`), `no poll ended in ${outcome}`)
})

const forgers = {
  'revocations, and names the seed': {
    forge: ({ changes, ...body }: Answer) => ({
      ...body,
      ...(changes && { changes: changes.filter(({ change }) => change !== 'tombstone') }),
    }),
    found: /^seed \d+, command \d+ \(poll.*still holds key/m,
  },
  suspensions: {
    forge: ({ tenants, ...body }: Answer) => ({
      ...body,
      ...(tenants && { tenants: tenants.map(({ suspended: _, ...tenant }) => tenant) }),
    }),
    found: /judges key \S+ valid instead of suspended_tenant/,
  },
  'networks of tenants': {
    forge: ({ tenants, ...body }: Answer) => ({
      ...body,
      ...(tenants && { tenants: tenants.map(({ allowed_cidrs: _, ...tenant }) => tenant) }),
    }),
    found: /judges key \S+ valid instead of ip_/,
  },
}
interface Answer {
  changes?: { change: string }[]
  tenants?: { suspended?: boolean; allowed_cidrs?: string[] }[]
}

for (const [what, { forge, found }] of Object.entries(forgers)) {
  test(`the drill detects a feed that forgets ${what}`, async () => {
    const onAnswer = (text: string) => JSON.stringify(forge(JSON.parse(text)))
    const { broken } = await runSeeds({
      ...sample,
      cycles: 10,
      commands: 40,
      first: 1,
      tally: new Map(),
      onAnswer,
    })
    assert.match(broken.join('\n'), found)
  })
}
