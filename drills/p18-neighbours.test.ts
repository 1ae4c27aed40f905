import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks } from './harness/neighbour-attacks.ts'
import { type Probed, probeNames } from './harness/neighbour-probe.ts'
import { runNeighbours } from './harness/neighbour-run.ts'
import { grownBytesMax, judge } from './harness/neighbour-verdict.ts'

test('each attack is made, and a neighbour is measured with and without it', async () => {
  const { attacked } = await runNeighbours({ cycles: 1, turnMs: 300, rows: 2_000, keys: 20 })
  assert.deepEqual(
    attacked.map(({ attack }) => attack),
    Object.keys(attacks),
  )
  for (const { attack, quiet, loud, tally } of attacked) {
    // On a busy machine a turn may end before each kind was answered.
    for (const turn of [...quiet, ...loud])
      assert.ok(Object.values(turn.ms).flat().length + turn.refused.length > 0, attack)
    const made = Object.values(tally).reduce((sum, times) => sum + times, 0)
    assert.ok(made > 0, `${attack} was not made`)
  }
})

const turn = (each: number, refused: string[] = []): Probed => ({
  ms: Object.fromEntries(probeNames.map(name => [name, Array(20).fill(each)])) as unknown as Probed['ms'],
  refused,
})
const verdict = (quiet: number[], loud: Probed[], grownBytes = 0) =>
  judge({ attack: 'a flood', quiet: quiet.map(each => turn(each)), loud, grownBytes })

test('a neighbour who is slowed down or refused, and a process that grows, are found out', () => {
  assert.deepEqual(verdict([2, 2], [turn(6)]).broken, [])
  const slow = verdict([2, 2.5], [turn(2), turn(9)])
  assert.equal(slow.broken.length, probeNames.length)
  assert.match(slow.broken[0] ?? '', /a flood: check is .* times slower: p50 2\.\d ms → /)
  assert.deepEqual(verdict([2, 2], [turn(2, ['check was answered 503'])]).broken, [
    'a flood: check was answered 503',
  ])
  assert.match(verdict([2, 2], [turn(2)], grownBytesMax + 2 ** 20).broken[0] ?? '', /grown by 257 MiB/)
})

test('on a machine whose quiet turns differ no time is judged, and that is said; refusals are judged', () => {
  const noisy = verdict([2, 4], [turn(30)])
  assert.deepEqual(noisy.broken, [])
  assert.match(noisy.doubt ?? '', /2\.0 times apart/)
  assert.equal(verdict([2, 4], [turn(30, ['poll was answered 500'])]).broken.length, 1)
  const refused = turn(2, ['poll was answered 503'])
  const everywhere = judge({ attack: 'a flood', quiet: [refused, turn(2)], loud: [refused], grownBytes: 0 })
  assert.deepEqual([everywhere.broken, everywhere.doubt], [[], 'the neighbour was refused beside nobody'])
})
