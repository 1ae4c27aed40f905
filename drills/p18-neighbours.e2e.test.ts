import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attacks } from './harness/neighbour-attacks.ts'
import { busySeconds } from './harness/neighbour-machine.ts'
import { type Probed, probeNames } from './harness/neighbour-probe.ts'
import { runNeighbours } from './harness/neighbour-run.ts'
import { grownBytesMax, judge, type Round } from './harness/neighbour-verdict.ts'

test('each attack runs, and a neighbour is measured with and without it', async () => {
  const { attacked } = await runNeighbours({ cycles: 1, turnMs: 300, rows: 2_000, keys: 20 })
  assert.deepEqual(
    attacked.map(({ attack }) => attack),
    Object.keys(attacks),
  )
  for (const { attack, rounds, tally } of attacked) {
    // On a busy machine a turn may end before each kind was answered.
    for (const { quiet, loud, others } of rounds) {
      for (const turn of [quiet, loud])
        assert.ok(Object.values(turn.ms).flat().length + turn.refused.length > 0, attack)
      // A fault of the drill itself would leave every figure undecided.
      for (const turn of [quiet, loud])
        assert.deepEqual(
          turn.refused.filter(refusal => / 4\d\d$/.test(refusal)),
          [],
          attack,
        )
      assert.ok(others >= 0, attack)
    }
    const made = Object.values(tally).reduce((sum, times) => sum + times, 0)
    assert.ok(made > 0, `${attack} was not made`)
  }
})

const turn = (each: number, refused: string[] = []): Probed => ({
  ms: Object.fromEntries(probeNames.map(name => [name, Array(20).fill(each)])) as unknown as Probed['ms'],
  refused,
})
/** Rounds whose requests all took so many ms in the quiet turn and beside the attack. */
const roundsOf = (...pairs: (readonly [quiet: number, loud: number])[]): Round[] =>
  pairs.map(([quiet, loud]) => ({ quiet: turn(quiet), loud: turn(loud), others: 0 }))
const verdict = (rounds: Round[], grownBytes = 0) => judge({ attack: 'a flood', rounds, grownBytes })
const even = roundsOf([2, 6], [2, 6], [2, 6], [2, 6], [2, 6], [2, 6])

test('a slower or refused neighbour, or a growing process, breaks the promise', () => {
  assert.deepEqual([verdict(even).broken, verdict(even).undecided], [[], []], 'three times is allowed')
  const slow = verdict(roundsOf([2, 7], [4, 16], [2, 7], [3, 12], [2, 8], [2, 7]))
  assert.equal(slow.broken.length, 2 * probeNames.length)
  assert.match(
    slow.broken[0] ?? '',
    /^a flood: check p50 is 3\.8 times slower \(95 % interval 3\.5 to 4\.0\): 2\.0 ms → 7\.5 ms$/,
  )
  const refusing = even.map(round => ({ ...round, loud: turn(6, ['check was answered 503']) }))
  assert.deepEqual(verdict(refusing).broken, ['a flood: check was answered 503'])
  assert.match(verdict(even, grownBytesMax + 2 ** 20).broken[0] ?? '', /grown by 257 MiB/)
})

test('one stall decides nothing, and a machine that slows down as a whole neither', () => {
  const stalled = verdict([...even, ...roundsOf([2, 6], [2, 6], [2, 200])])
  assert.deepEqual([stalled.broken, stalled.undecided], [[], []])
  const drifting = verdict(roundsOf([1, 2], [2, 4], [4, 8], [8, 16], [16, 32], [32, 64]))
  assert.deepEqual([drifting.broken, drifting.undecided], [[], []])
  assert.equal(drifting.lines[0]?.p99.slower, 2)
})

test('ratios on both sides of the limit, and too few rounds, leave a figure undecided', () => {
  const swaying = verdict(roundsOf([2, 2], [2, 12], [2, 3], [2, 14], [2, 12], [2, 2]))
  assert.deepEqual([swaying.broken.length, swaying.undecided.length], [0, 2 * probeNames.length])
  const short = verdict(roundsOf([2, 30], [2, 30]))
  assert.deepEqual([short.broken.length, short.undecided.length], [0, 1])
  assert.match(short.undecided[0] ?? '', /2 rounds .* are too few/)
})

test('rounds beside other work are left out, because it hides what an attack does', () => {
  const busy = roundsOf([30, 30], [30, 30], [30, 30], [30, 30]).map(round => ({ ...round, others: 1 }))
  const slow = roundsOf(...Array(6).fill([2, 8]))
  assert.equal(verdict([...busy, ...slow]).broken.length, 2 * probeNames.length)
  assert.deepEqual([verdict(busy).disturbed, verdict(busy).broken.length], [4, 0])
  assert.match(verdict(busy).undecided[0] ?? '', /^a flood: 0 rounds without other work/)
})

test('refusals are judged only if the neighbour is answered without the attack', () => {
  const refused = turn(2, ['poll was answered 503'])
  const everywhere = verdict(even.map(round => ({ ...round, quiet: refused, loud: refused })))
  assert.deepEqual(everywhere.broken, [])
  assert.deepEqual(everywhere.undecided, ['a flood: refused in a quiet turn: poll was answered 503'])
})

test('idle and waiting cores are no other work', () => {
  assert.equal(busySeconds('cpu  100 20 30 4000 500 6 7 37 9 9\ncpu0 1 2 3\n'), 2)
})
