import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openStage } from '../../test/sign-in-stage.ts'
import { Refusal } from '../platform/refusal.ts'
import { checksAtOnce, fewestAtOnce, freeFailures, holdMsOf, quietMs } from './sign-in-guard.ts'
import { waitingMax, waitingOfNetworkMax } from './sign-in-turns.ts'

const isTooMany = (outcome: unknown) => outcome instanceof Refusal && outcome.code === 'too_many_requests'
const retryAfterOf = (outcome: unknown) => (outcome as Refusal).headers['retry-after']

test('ten failures cost nothing, and then the answers are held for longer and longer, up to 4 s', async () => {
  const stage = openStage()
  await stage.fail(freeFailures)
  for (const milliseconds of [250, 500, 1_000, 2_000, 4_000, 4_000]) {
    const asked = await stage.ask()
    await stage.answer(false)
    assert.equal(asked.outcome, null, 'it is not answered yet')
    assert.deepEqual(
      stage.held.map(one => one.milliseconds),
      [milliseconds],
    )
    await stage.wake()
    assert.equal(asked.outcome, false)
  }
  assert.equal(holdMsOf(5_000), 4_000)
})

test('a right password is answered at once after any failures, and resets the count', async () => {
  const stage = openStage()
  await stage.fail(100)
  const right = await stage.ask()
  await stage.answer(true)
  assert.deepEqual([right.outcome, stage.held.length], [true, 0])
  const wrong = await stage.ask()
  await stage.answer(false)
  assert.equal(wrong.outcome, false)
})

test('failures are forgotten after a quiet time, and not before', async () => {
  const stage = openStage()
  await stage.fail(freeFailures)
  stage.advance(quietMs - 1)
  await stage.ask()
  await stage.answer(false)
  assert.equal(stage.held.length, 1)
  await stage.wake()
  stage.advance(quietMs)
  await stage.ask()
  await stage.answer(false)
  assert.equal(stage.held.length, 0)
})

test('accounts do not disturb each other', async () => {
  const stage = openStage()
  await stage.fail(30, 'ann')
  const other = await stage.ask('bob')
  await stage.answer(false)
  assert.equal(other.outcome, false)
})

test('a held answer keeps its place among the four, which makes it one guess a second', async () => {
  const stage = openStage()
  await stage.fail(20)
  for (let network = 0; network < 6; network++) await stage.ask('ann', network)
  assert.equal(stage.attempts.length, fewestAtOnce)
  for (let i = 0; i < fewestAtOnce; i++) await stage.answer(false)
  assert.deepEqual([stage.attempts.length, stage.held.length], [0, fewestAtOnce])
  await stage.wake()
  assert.equal(stage.attempts.length, 1)
})

test('a right password among many leaves the others counted', async () => {
  const stage = openStage()
  for (let network = 0; network < freeFailures; network++) await stage.ask('ann', network)
  await stage.answer(true)
  for (let network = 20; network < 25; network++) await stage.ask('ann', network)
  assert.equal(stage.attempts.length, freeFailures)
})

test('so many may wait and no more, and one network only for a few of them', async () => {
  const stage = openStage()
  await stage.fail(20)
  for (let i = 0; i < fewestAtOnce; i++) await stage.ask('ann', 200)
  for (let i = 0; i < waitingOfNetworkMax; i++) await stage.ask('ann', 0)
  const crowd = await stage.ask('ann', 0)
  assert.ok(isTooMany(crowd.outcome))
  assert.equal(retryAfterOf(crowd.outcome), '4')
  const last = await stage.ask('ann', waitingOfNetworkMax)
  for (let i = waitingOfNetworkMax + 1; i < waitingMax; i++) await stage.ask('ann', i)
  assert.equal(last.outcome, null)
  // The line of four gives way until every network that waits has one.
  for (let i = 0; i < waitingOfNetworkMax - 1; i++) {
    const owner = await stage.ask('ann', 201 + i)
    assert.equal(owner.outcome, null)
  }
  const late = await stage.ask('ann', 300)
  assert.ok(isTooMany(late.outcome))
  assert.equal((await stage.ask('bob', 201)).outcome, null, 'another account has its own places')
})

test('a flood of an account from one network delays another network by one check', async () => {
  const stage = openStage()
  await stage.fail(20)
  for (let i = 0; i < fewestAtOnce + waitingOfNetworkMax; i++) await stage.ask('ann', 66)
  const owner = await stage.ask('ann', 1)
  for (let checks = 0; checks < 2; checks++) {
    await stage.answer(false)
    await stage.wake()
  }
  assert.deepEqual(
    stage.attempts.map(one => one.network),
    [66, 66, 66, 1],
  )
  await stage.answer(true, 3)
  assert.equal(owner.outcome, true)
})

test('a client that disconnects while waiting frees its place for the next one', async () => {
  const stage = openStage()
  await stage.fail(20)
  for (let i = 0; i < fewestAtOnce; i++) await stage.ask('ann', 66)
  const caller = new AbortController()
  const gone = await stage.ask('ann', 1, caller.signal)
  const behind = await stage.ask('ann', 1)
  caller.abort()
  await stage.settle()
  assert.ok(isTooMany(gone.outcome))
  await stage.answer(true)
  await stage.answer(
    true,
    stage.attempts.findIndex(({ network }) => network === 1),
  )
  assert.equal(behind.outcome, true)
})

test('an attempt that throws is no failure and gives back its place', async () => {
  const stage = openStage(1)
  const fault = new Error('no store')
  for (let i = 0; i < 20; i++)
    await assert.rejects(
      stage.guard.check('ann', '192.0.2.1', () => Promise.reject(fault)),
      fault,
    )
  const asked = await stage.ask('ann', 1)
  await stage.answer(false)
  assert.equal(asked.outcome, false)
})

test('a network has a limit of failures a minute over all accounts, and gets 429 beyond it', async () => {
  const stage = openStage(3)
  for (const account of ['ann', 'bob', 'cy']) await stage.fail(1, account, 1)
  stage.advance(20_500)
  const refused = await stage.ask('dee', 1)
  assert.ok(isTooMany(refused.outcome))
  assert.equal(retryAfterOf(refused.outcome), '40')
  assert.equal((await stage.ask('dee', 2)).outcome, null, 'another network is served')
  stage.advance(39_500)
  assert.equal((await stage.ask('dee', 1)).outcome, null)
})

test('right passwords do not use up a network’s failures, and many at once cannot exceed them', async () => {
  const stage = openStage(3)
  for (let i = 0; i < 10; i++) {
    await stage.ask('ann', 1)
    await stage.answer(true)
  }
  for (let i = 0; i < 3; i++) await stage.ask(`person ${i}`, 1)
  assert.ok(isTooMany((await stage.ask('person 4', 1)).outcome))
  assert.equal(stage.attempts.length, 3)
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: fc.constantFrom('ann', 'bob'), network: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ answer: fc.boolean(), at: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ wake: fc.nat(9) }) },
)

test('in any order: the bound at once holds, wrong answers are delayed, and all get answers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(14), fc.array(step, { maxLength: 60 }), async (before, steps) => {
      const stage = openStage()
      await stage.fail(before)
      const failures: Record<string, number> = { ann: before, bob: 0 }
      const sleeping: Record<string, number> = { ann: 0, bob: 0 }
      const owners = new Map<unknown, string>()
      const answer = async (isRight: boolean, at: number) => {
        const attempt = stage.attempts[at % Math.max(1, stage.attempts.length)]
        if (attempt === undefined) return
        const { account } = attempt
        const heldBefore = stage.held.length
        attempt.answer(isRight)
        failures[account] = isRight ? 0 : (failures[account] ?? 0) + 1
        await stage.settle()
        const holdMs = isRight ? 0 : holdMsOf(failures[account])
        assert.equal(stage.held.length - heldBefore, holdMs > 0 ? 1 : 0)
        const latest = stage.held.at(-1)
        if (holdMs > 0 && latest !== undefined) {
          assert.equal(latest.milliseconds, holdMs)
          owners.set(latest, account)
          sleeping[account] = (sleeping[account] ?? 0) + 1
        }
      }
      const wake = async (at: number) => {
        const one = stage.held[at % Math.max(1, stage.held.length)]
        if (one === undefined) return
        const account = owners.get(one) ?? ''
        sleeping[account] = (sleeping[account] ?? 0) - 1
        await stage.wake(stage.held.indexOf(one))
      }
      const underWay = (account: string) =>
        stage.attempts.filter(one => one.account === account).length + (sleeping[account] ?? 0)
      for (const one of steps) {
        if ('ask' in one) {
          const was = underWay(one.ask)
          await stage.ask(one.ask, one.network)
          if (underWay(one.ask) > was) assert.ok(was < checksAtOnce(failures[one.ask] ?? 0))
        } else if ('answer' in one) await answer(one.answer, one.at)
        else await wake(one.wake)
        for (const account of ['ann', 'bob']) assert.ok(underWay(account) <= freeFailures)
      }
      while (stage.attempts.length + stage.held.length > 0) {
        await answer(false, 0)
        await wake(0)
      }
      for (const { outcome } of stage.asked) assert.ok(typeof outcome === 'boolean' || isTooMany(outcome))
    }),
    { numRuns: 150 },
  )
})
