import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../refusal.ts'
import { bodyLimit } from './body.ts'
import { createBodyTurns } from './body-turns.ts'

mock.timers.enable({ apis: ['setTimeout'] })

const requestOf = (length?: number) =>
  ({ headers: length === undefined ? {} : { 'content-length': String(length) } }) as IncomingMessage
const large = requestOf(bodyLimit + 1)
const makeResponse = () => Object.assign(new EventEmitter(), { closed: false }) as unknown as ServerResponse

/** One sender's request, and whether its body may be read. */
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

test('large bodies of one sender come one after the other, in their order; small ones wait for nothing', async () => {
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

test('another sender’s large body waits for nobody, and while others are about a sender rests', async () => {
  const turns = createBodyTurns()
  const [first, second] = [send(turns, 'a'), send(turns, 'a')]
  assert.equal(send(turns, 'b').mayRead, true)
  first.end()
  await setImmediate()
  assert.equal(second.mayRead, false, 'it rests for as long as its last body took')
  mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(second.mayRead, true)
})

test('who waits too long is told to come back, and takes nobody’s turn', async () => {
  const turns = createBodyTurns()
  const sent = Array.from({ length: 6 }, () => send(turns, 'a'))
  // Each of the first three hangs for as long as a turn lasts.
  for (let second = 0; second < 3; second++) {
    mock.timers.tick(1_000)
    await setImmediate()
  }
  const { error } = sent[5] ?? {}
  assert.ok(error instanceof Refusal && error.code === 'unavailable')
  assert.equal(sent[5]?.mayRead, false)
  const late = send(turns, 'a')
  mock.timers.tick(1_000)
  await setImmediate()
  assert.equal(late.mayRead, true)
})

test('a body that does not come keeps the others of its sender waiting for a second', async () => {
  const turns = createBodyTurns()
  const [, second] = [send(turns, 'a'), send(turns, 'a')]
  mock.timers.tick(999)
  await setImmediate()
  assert.equal(second.mayRead, false)
  mock.timers.tick(1)
  await setImmediate()
  assert.equal(second.mayRead, true)
})

test('of one sender no more than 64 wait', async () => {
  const turns = createBodyTurns()
  for (let i = 0; i < 65; i++) send(turns, 'a')
  assert.throws(
    () => send(turns, 'a'),
    (error: unknown) => error instanceof Refusal && error.headers['retry-after'] === '1',
  )
})
