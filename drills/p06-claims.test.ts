import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runRounds } from './harness/idempotency-rounds.ts'

test('of all who claim a request at once, through one process or two, one executes', async () => {
  const { broken, figures } = await runRounds({ cycles: 2, sizes: [2, 10, 300] })
  assert.deepEqual(broken, [])
  for (const [name, { rounds, execute, inProgress, replay, unavailable }] of figures) {
    const size = Number(name.split(' ')[0])
    const expected = name.endsWith('answered') ? [0, 0, rounds * size] : [rounds, rounds * (size - 1), 0]
    // On a busy machine some may be told 503; the rounds themselves judge what else they say then.
    if (unavailable === 0) assert.deepEqual([execute, inProgress, replay], expected, name)
  }
  assert.equal(figures.size, 18)
})

test('the drill finds out a service that tells two to execute', async () => {
  let told = 0
  const { broken } = await runRounds({
    cycles: 1,
    sizes: [10],
    meddle: ask => async (name, body) => {
      const answer = await ask(name, body)
      if (name !== 'claim' || told++ % 10 !== 0) return answer
      return { ...answer, body: { verdict: 'execute', lock_token: 'made-up-token' } }
    },
  })
  assert.match(broken.join('\n'), /execute/)
})
