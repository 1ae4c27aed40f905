import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runStaleness, situations } from './harness/staleness.ts'

test('a node that is cut off serves until 59,999 ms after its last confirmation, then refuses', async () => {
  const { seen, broken } = await runStaleness({ cycles: 1, seed: Date.now() % 1_000_000 })
  assert.deepEqual(broken, [])
  assert.deepEqual(
    seen.map(({ situation, verdicts }) => [
      situation,
      verdicts.get('59999 valid'),
      verdicts.get('60000 stale'),
    ]),
    Object.keys(situations).map(situation => [situation, 1, 1]),
  )
})
