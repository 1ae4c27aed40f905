import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHistories } from './harness/idempotency-histories.ts'
import { explainAll, type ModelState } from './harness/idempotency-model.ts'

const seed = Date.now() % 1_000_000

test(`some order of the calls explains every answer, whatever is killed (seed ${seed})`, async () => {
  const { broken, verdicts, kills } = await runHistories({ cycles: 1, seed })
  assert.deepEqual(broken, [])
  assert.ok(kills.service + kills.backends + kills.postmaster > 0)
  for (const name of ['execute', 'in_progress', 'replay', 'mismatch', 'not_replayable'])
    assert.ok((verdicts.get(`claim ${name}`) ?? 0) > 0, name)
  for (const name of ['complete completed', 'complete lost', 'release released', 'release lost'])
    assert.ok((verdicts.get(name) ?? 0) > 0, name)
  assert.ok((verdicts.get('heartbeat extended') ?? 0) > 0 && (verdicts.get('heartbeat lost') ?? 0) > 0)
})

test('the drill detects a service that accepts an old token', async () => {
  const tokens = new Map<string, string>()
  const { broken } = await runHistories({
    cycles: 3,
    seed: 1,
    // Every caller counts as the newest holder.
    meddle: ask => async (name, body) => {
      const { scope_hash, lock_token } = body as { scope_hash: string; lock_token?: string }
      const token = lock_token === undefined ? undefined : (tokens.get(scope_hash) ?? lock_token)
      const answer = await ask(name, { ...body, ...(token !== undefined && { lock_token: token }) })
      if (answer.body.verdict === 'execute') tokens.set(scope_hash, String(answer.body.lock_token))
      return answer
    },
  })
  assert.match(broken.join('\n'), /no order explains/)
})

test('the model itself rejects two claims that execute', () => {
  const claim = { name: 'claim', fingerprint: 'a', ttlMs: null } as const
  const execute = (token: string) => ({
    object: 'idempotency_claim',
    verdict: 'execute',
    lock_token: token,
    lock_expires_at: new Date(30_000).toISOString(),
  })
  const none: ModelState[] = [null]
  const both = [
    { call: claim, answer: execute('1') },
    { call: claim, answer: execute('2') },
  ]
  assert.deepEqual(explainAll(none, both, 0), [])
  const one = [both[0], { call: claim, answer: { verdict: 'in_progress', retry_after_ms: 30_000 } }] as const
  assert.equal(explainAll(none, one as never, 0).length, 1)
})
