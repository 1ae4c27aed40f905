import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runRounds } from './harness/idempotency-rounds.ts'

test('one of simultaneous claims executes, through one process or two', async () => {
  const { broken, figures } = await runRounds({ cycles: 2, sizes: [2, 10, 300] })
  assert.deepEqual(broken, [])
  for (const [name, { rounds, execute, inProgress, replay, unavailable }] of figures) {
    const size = Number(name.split(' ')[0])
    const expected = name.endsWith('answered') ? [0, 0, rounds * size] : [rounds, rounds * (size - 1), 0]
    // On a busy machine some may get 503; the rounds themselves judge the other answers then.
    if (unavailable === 0) assert.deepEqual([execute, inProgress, replay], expected, name)
  }
  assert.equal(figures.size, 18)
})

test('the drill detects a service that lets two claims execute', async () => {
  let claims = 0
  const { broken } = await runRounds({
    cycles: 1,
    sizes: [10],
    meddle: ask => async (name, body) => {
      const answer = await ask(name, body)
      if (name !== 'claim' || claims++ % 10 !== 0) return answer
      return { ...answer, body: { verdict: 'execute', lock_token: 'made-up-token' } }
    },
  })
  assert.match(broken.join('\n'), /execute/)
})

test('a completion that gets 503 is sent again', async () => {
  let completions = 0
  const { broken } = await runRounds({
    cycles: 1,
    sizes: [2],
    meddle: ask => (name, body) =>
      name === 'complete' && completions++ % 2 === 0
        ? Promise.resolve({ status: 503, body: {}, ms: 0 })
        : ask(name, body),
  })
  assert.deepEqual(broken, [])
  assert.equal(completions, 4)
})
