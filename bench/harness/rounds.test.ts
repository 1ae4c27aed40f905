import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Arm, Measured } from './bench.ts'
import { orderOf, playRounds, warmUp } from './rounds.ts'

const OPTIONS = { rounds: 4, seconds: 1, headline: 'requests/s' }

/** An arm that returns the given figures, turn by turn, and records when it was called. */
function scripted(name: string, results: readonly Measured[] = [1], log: string[] = []): Arm {
  let turns = 0
  return {
    name,
    role: 'peer',
    measure: async ({ round, seconds }) => {
      log.push(`${name}${round}/${seconds}`)
      return results[turns++ % results.length] ?? Number.NaN
    },
  }
}

test('arms take turns A B, B A, A B, B A', async () => {
  const log: string[] = []
  await playRounds([scripted('A', [1], log), scripted('B', [1], log)], OPTIONS)
  assert.deepEqual(log, ['A1/1', 'B1/1', 'B2/1', 'A2/1', 'A3/1', 'B3/1', 'B4/1', 'A4/1'])
})

test('three arms go A B C, C B A', () => {
  const arms = [scripted('A'), scripted('B'), scripted('C')]
  const names = (round: number) => orderOf(arms, round).map(arm => arm.name)
  assert.deepEqual(
    [names(1), names(2)],
    [
      ['A', 'B', 'C'],
      ['C', 'B', 'A'],
    ],
  )
})

test('figures are kept by arm, metric and round; a bare number is the headline metric', async () => {
  const bare = scripted('bare', [10, 20, 30, 40])
  const full = scripted('full', [{ values: { 'requests/s': 5, 'p99 ms': 7 } }])
  const { series } = await playRounds([bare, full], OPTIONS)
  assert.deepEqual(series, {
    bare: { 'requests/s': [10, 20, 30, 40] },
    full: { 'requests/s': [5, 5, 5, 5], 'p99 ms': [7, 7, 7, 7] },
  })
})

test('arms that answer differently fail the run, and the message shows each answer', async () => {
  const right = scripted('right', [{ values: { x: 1 }, answer: { rows: 3 } }])
  const wrong = scripted('wrong', [
    { values: { x: 1 }, answer: { rows: 3 } },
    { values: { x: 1 }, answer: { rows: 2 } },
  ])
  await assert.rejects(
    playRounds([right, wrong], OPTIONS),
    /disagree in round 2: .*\{ rows: [23] \}.*\{ rows: [23] \}/,
  )
})

test('a wrong answer in the warm-up fails as well', async () => {
  const arms = ['one', 'other'].map(name => scripted(name, [{ values: { x: 1 }, answer: name }]))
  await assert.rejects(warmUp(arms, 1), /disagree in the warm-up/)
})

test('answers may change between rounds if the arms agree; arms without one are skipped', async () => {
  const answers = [1, 2, 3, 4].map(answer => ({ values: { x: 1 }, answer }))
  const { series } = await playRounds(
    [scripted('A', answers), scripted('B', answers), scripted('C')],
    OPTIONS,
  )
  assert.deepEqual(Object.keys(series), ['A', 'B', 'C'])
})

test('a missing or invalid figure in any round fails the run', async () => {
  await assert.rejects(playRounds([scripted('A', [Number.NaN])], OPTIONS), /A gave NaN as requests\/s/)
  await assert.rejects(playRounds([scripted('A', [1, Number.POSITIVE_INFINITY])], OPTIONS), /gave Infinity/)
  const patchy = scripted('A', [{ values: { x: 1, y: 1 } }, { values: { x: 1 } }])
  await assert.rejects(playRounds([patchy], OPTIONS), /does not give y in every round/)
  const late = scripted('A', [{ values: { x: 1 } }, { values: { x: 1, y: 1 } }])
  await assert.rejects(playRounds([late], OPTIONS), /does not give y in every round/)
})

test('doubts are counted by their words, and those of the warm-up are dropped', async () => {
  const doubtful = { values: { x: 1 }, doubt: 'generator busy' }
  const arm = scripted('A', [doubtful, doubtful, { values: { x: 1 } }])
  await warmUp([arm], 1)
  const { doubts } = await playRounds([arm], OPTIONS)
  assert.deepEqual([...doubts], [['generator busy', 3]])
})
