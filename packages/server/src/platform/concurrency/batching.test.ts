import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../refusal.ts'
import {
  answerCalls,
  type BatchingSpec,
  mostBytes,
  mostWaiting,
  openBatching,
  sendDistinct,
} from './batching.ts'
import { Deadline } from './deadline.ts'

/** Doubles numbers. A batch stays under way until the test answers it. */
function openDoubler(more: Partial<BatchingSpec<number, number>> = {}) {
  const sent: number[][] = []
  const underWay: PromiseWithResolvers<void>[] = []
  const batching = openBatching<number, number>({
    requestMs: 60_000,
    carry: calls =>
      answerCalls(calls, async items => {
        const answer = Promise.withResolvers<void>()
        sent.push(items)
        underWay.push(answer)
        await answer.promise
        return items.map(item => item * 2)
      }),
    ...more,
  })
  const untilSent = async (batches: number) => {
    while (sent.length < batches) await setImmediate()
  }
  return { batching, sent, underWay, untilSent }
}

const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'

test('calls that arrive while a batch is under way share the next one', async () => {
  const { batching, sent, underWay, untilSent } = openDoubler()
  const first = batching.run(1)
  await untilSent(1)
  const rest = [2, 3].map(item => batching.run(item))
  assert.equal(batching.depth(), 2)
  underWay[0]?.resolve()
  assert.equal(await first, 2)
  await untilSent(2)
  assert.deepEqual([sent, batching.depth()], [[[1], [2, 3]], 0])
  underWay[1]?.resolve()
  assert.deepEqual(await Promise.all(rest), [4, 6])
})

test('groups do not wait for each other', async () => {
  const { batching, sent, underWay, untilSent } = openDoubler({ groupOf: item => `${item % 2}` })
  const [odd, even] = [batching.run(1), batching.run(2)]
  await untilSent(2)
  assert.deepEqual(sent, [[1], [2]])
  underWay[1]?.resolve()
  assert.equal(await even, 4)
  underWay[0]?.resolve()
  assert.equal(await odd, 2)
})

test('an overdue call is answered 503 and not sent, and its neighbours are', async () => {
  const { batching, sent, underWay, untilSent } = openDoubler()
  const first = batching.run(1)
  await untilSent(1)
  const overdue = batching.run(2, new Deadline(0))
  const inTime = batching.run(3)
  await assert.rejects(overdue, isUnavailable)
  underWay[0]?.resolve()
  await untilSent(2)
  underWay[1]?.resolve()
  assert.deepEqual([await first, await inTime, sent], [2, 6, [[1], [3]]])
})

test('an overdue call under way is answered 503, and its neighbours get their answers', async () => {
  const { batching, underWay, untilSent } = openDoubler()
  const answers = [batching.run(1), batching.run(2, new Deadline(0)), batching.run(3)]
  await untilSent(1)
  await assert.rejects(answers[1] as Promise<number>, isUnavailable)
  underWay[0]?.resolve()
  assert.deepEqual([await answers[0], await answers[2]], [2, 6])
})

test('deadlines hold again after a pause without calls, and for the next batch of a busy group', async () => {
  const { batching, underWay, untilSent } = openDoubler()
  for (let batches = 1; batches < 4; batches++) {
    const inTime = batching.run(batches)
    await untilSent(batches)
    await assert.rejects(batching.run(9, new Deadline(0)), isUnavailable)
    underWay[batches - 1]?.resolve()
    assert.equal(await inTime, batches * 2)
  }
})

test('a server with too many pending calls refuses new ones, and another one does not', async () => {
  const { batching, sent, underWay, untilSent } = openDoubler({
    groupOf: item => `${item % 2}`,
    serverOf: group => group,
  })
  const odd = Array.from({ length: mostWaiting }, () => batching.run(1))
  await assert.rejects(batching.run(3), isUnavailable)
  const even = batching.run(2)
  for (let batches = 1; sent.flat().length < mostWaiting + 1; batches++) {
    await untilSent(batches)
    underWay[batches - 1]?.resolve()
  }
  assert.equal((await Promise.all(odd)).length, mostWaiting)
  assert.equal(await even, 4)
})

test('calls of a batch that fails get its error, and the next batch is sent', async () => {
  let failed = false
  const batching = openBatching<number, number>({
    requestMs: 60_000,
    async carry(calls) {
      if (!failed) {
        failed = true
        calls[0]?.resolve(0)
        throw new Refusal('unavailable')
      }
      for (const call of calls) call.resolve(call.item)
    },
  })
  const [first, second] = await Promise.allSettled([batching.run(1), batching.run(2)])
  assert.deepEqual([first?.status, second?.status], ['fulfilled', 'rejected'])
  assert.equal(await batching.run(3), 3)
})

test('closing answers what waits and refuses what comes after', async () => {
  const { batching, underWay, untilSent } = openDoubler()
  const first = batching.run(1)
  await untilSent(1)
  const second = batching.run(2)
  const closing = batching.close()
  await assert.rejects(batching.run(3), isUnavailable)
  underWay[0]?.resolve()
  await untilSent(2)
  underWay[1]?.resolve()
  assert.deepEqual([await first, await second], [2, 4])
  await closing
})

test('items with the same name are sent once and share the answer', async () => {
  const sent: number[][] = []
  const answers = await sendDistinct([7, 3, 7, 7, 3], String, async items => {
    sent.push(items)
    return items.map(item => item * 2)
  })
  assert.deepEqual([answers, sent], [[14, 6, 14, 14, 6], [[7, 3]]])
})

/** Sends batch after batch until none waits. @returns the batches. */
async function sendAllOf({ batching, sent, underWay, untilSent }: ReturnType<typeof openDoubler>) {
  for (let batches = 1; ; batches++) {
    await untilSent(batches)
    underWay[batches - 1]?.resolve()
    if (batching.depth() === 0) return sent
  }
}
/** A party has the items of a hundred. */
const partyOf = (item: number) => `${Math.floor(item / 100)}`

test('when more waits than a batch holds, parties take turns, and each keeps its order', async () => {
  const doubler = openDoubler({ partyOf, bytesOf: () => mostBytes / 4 })
  const items = [100, 101, 102, 103, 104, 105, 106, 107, 200, 201, 300]
  const answers = Promise.all(items.map(item => doubler.batching.run(item)))
  assert.deepEqual(await sendAllOf(doubler), [
    [100, 200, 300, 101],
    [201, 102, 103, 104],
    [105, 106, 107],
  ])
  assert.deepEqual(
    await answers,
    items.map(item => item * 2),
  )
})

test('parties whose calls fill a batch each take turns with those that come later', async () => {
  const doubler = openDoubler({ partyOf, bytesOf: () => mostBytes })
  const first = [100, 101, 102, 200, 201, 202].map(item => doubler.batching.run(item))
  await doubler.untilSent(1)
  const later = doubler.batching.run(300)
  const sent = await sendAllOf(doubler)
  assert.deepEqual(sent, [[100], [200], [300], [101], [201], [102], [202]])
  await Promise.all([...first, later])
})

test('what fits into one batch goes in the order in which it came', async () => {
  const doubler = openDoubler({ partyOf })
  const answers = [100, 101, 200, 102].map(item => doubler.batching.run(item))
  assert.deepEqual(await sendAllOf(doubler), [[100, 101, 200, 102]])
  await Promise.all(answers)
})
