import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../../refusal.ts'
import { bodyLimit } from './body.ts'
import { createBodyTurns } from './turns.ts'

mock.timers.enable({ apis: ['setTimeout'] })

const requestOf = (length?: number) =>
  ({ headers: length === undefined ? {} : { 'content-length': String(length) } }) as IncomingMessage
const large = requestOf(bodyLimit + 1)
const makeResponse = () => Object.assign(new EventEmitter(), { closed: false }) as unknown as ServerResponse

/** Sends one request of a sender, and records whether its body may be read. */
function send(turns: ReturnType<typeof createBodyTurns>, sender: string, request = large) {
  const response = makeResponse()
  const sent = { mayRead: false, error: null as unknown, end: () => response.emit('close') }
  const turn = turns.take(request, response, sender)
  if (turn === null) sent.mayRead = true
  else
    turn.then(
      () => {
        sent.mayRead = true
      },
      error => {
        sent.error = error
      },
    )
  return sent
}

test('one sender’s large bodies are read in order, one at a time; small ones do not wait', async () => {
  const turns = createBodyTurns()
  const [first, second, third] = [send(turns, 'a'), send(turns, 'a'), send(turns, 'a')]
  assert.deepEqual([first.mayRead, second.mayRead, third.mayRead], [true, false, false])
  for (const small of [requestOf(), requestOf(0), requestOf(bodyLimit)])
    assert.equal(send(turns, 'a', small).mayRead, true)
  first.end()
  await setImmediate()
  assert.deepEqual([second.mayRead, third.mayRead], [true, false])
  second.end()
  await setImmediate()
  assert.equal(third.mayRead, true)
})

test('large bodies of different senders do not wait for each other, but one’s next rests', async () => {
  const turns = createBodyTurns()
  const [first, second] = [send(turns, 'a'), send(turns, 'a')]
  assert.equal(send(turns, 'b').mayRead, true)
  first.end()
  await setImmediate()
  assert.equal(second.mayRead, false, 'the sender waits as long as its last body took')
  mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(second.mayRead, true)
})

test('while others send, one sender gets 4 MiB a second', async () => {
  const turns = createBodyTurns()
  const whole = requestOf(4 * 1_048_576)
  const [first, second] = [send(turns, 'a', whole), send(turns, 'a', whole)]
  send(turns, 'b', requestOf())
  first.end()
  mock.timers.tick(800)
  await setImmediate()
  assert.equal(second.mayRead, false)
  mock.timers.tick(200)
  await setImmediate()
  assert.equal(second.mayRead, true)
})

test('a sender that waits too long gets 429 and takes no turn from another', async () => {
  const turns = createBodyTurns()
  const sent = Array.from({ length: 6 }, () => send(turns, 'a'))
  // Each of the first three hangs for a whole turn.
  for (let second = 0; second < 3; second++) {
    mock.timers.tick(1_000)
    await setImmediate()
  }
  const { error } = sent[5] ?? {}
  assert.ok(error instanceof Refusal && error.code === 'too_many_in_flight')
  assert.equal(sent[5]?.mayRead, false)
  const late = send(turns, 'a')
  mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(late.mayRead, true)
})

test('a body that does not arrive delays the sender’s others for one second', async () => {
  const turns = createBodyTurns()
  const [, second] = [send(turns, 'a'), send(turns, 'a')]
  mock.timers.tick(999)
  await setImmediate()
  assert.equal(second.mayRead, false)
  mock.timers.tick(1)
  await setImmediate()
  assert.equal(second.mayRead, true)
})

test('at most 64 large bodies of one sender wait', async () => {
  const turns = createBodyTurns()
  for (let i = 0; i < 65; i++) send(turns, 'a')
  assert.throws(
    () => send(turns, 'a'),
    (error: unknown) => error instanceof Refusal && error.headers['retry-after'] === '1',
  )
})
