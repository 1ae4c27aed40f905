import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { Refusal } from '../../refusal.ts'
import {
  createLargeBodies,
  type LargeBodies,
  largeBytesMax,
  mediumBytesMax,
  smallBytesMax,
} from './large-bodies.ts'

const mebibyte = 1_048_576
const anAnswer = () => new EventEmitter() as unknown as ServerResponse
/** A request whose body has not arrived. */
const saying = (headers: Record<string, string>) => ({ headers }) as unknown as IncomingMessage
const isUnavailable = (error: unknown) =>
  error instanceof Refusal && error.code === 'unavailable' && error.headers['retry-after'] === '1'

const isOwnShare = (error: unknown) =>
  error instanceof Refusal && error.code === 'too_many_in_flight' && error.headers['retry-after'] === '1'

/** Lets a body arrive, a mebibyte at a time. */
function arrive(bodies: LargeBodies, bytes: number, answer: ServerResponse, headers = {}) {
  const request = saying({ 'content-length': String(bytes), ...headers })
  const hold = bodies.holdBody(request, answer, 8 * mebibyte)
  for (let arrived = 0; arrived < bytes; ) {
    arrived = Math.min(arrived + mebibyte, bytes)
    hold?.(arrived)
  }
}

test('a large body takes its share until its request ends, and is refused without room', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const [a, b] = [anAnswer(), anAnswer()]
  bodies.holdAnswer(a, 6 * mebibyte)
  arrive(bodies, 4 * mebibyte, b)
  assert.equal(bodies.held(), 10 * mebibyte)
  assert.throws(() => bodies.holdAnswer(anAnswer(), mebibyte + 1), isUnavailable)
  const late = saying({ 'content-length': String(mebibyte + 1) })
  assert.throws(() => bodies.holdBody(late, anAnswer(), 8 * mebibyte), isUnavailable)
  assert.equal(bodies.held(), 10 * mebibyte, 'a refused one takes nothing')
  bodies.holdAnswer(anAnswer(), smallBytesMax)
  assert.equal(bodies.held(), 10 * mebibyte, 'a small one takes nothing')
  a.emit('close')
  bodies.holdAnswer(anAnswer(), 2 * mebibyte)
  b.emit('close')
  assert.equal(bodies.held(), 2 * mebibyte)
})

test('medium bodies have room beside the large ones, and are bounded as well', () => {
  const bodies = createLargeBodies()
  for (let i = 0; i < largeBytesMax / mebibyte / 8; i++) bodies.holdAnswer(anAnswer(), 8 * mebibyte)
  for (let i = 0; i < mediumBytesMax / 65_536; i++) arrive(bodies, 65_536, anAnswer())
  assert.equal(bodies.held(), largeBytesMax + mediumBytesMax)
  const one = saying({ 'content-length': String(smallBytesMax + 1) })
  assert.throws(() => bodies.holdBody(one, anAnswer(), 8 * mebibyte), isUnavailable)
  bodies.holdBody(saying({ 'content-length': String(smallBytesMax) }), anAnswer(), 8 * mebibyte)
})

test('a response that is read again takes only the size of the largest', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const a = anAnswer()
  for (const [bytes, held] of [
    [2, 2],
    [2, 2],
    [6, 6],
    [3, 6],
    [10, 10],
  ] as const) {
    bodies.holdAnswer(a, bytes * mebibyte)
    assert.equal(bodies.held(), held * mebibyte)
  }
  a.emit('close')
  assert.equal(bodies.held(), 0)
})

test('bytes sent to many callers count once until the last one has them', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const page = Buffer.alloc(6 * mebibyte)
  const answers = Array.from({ length: 100 }, anAnswer)
  for (const answer of answers) bodies.holdSent(answer, page, true)
  assert.equal(bodies.held(), 6 * mebibyte)
  assert.throws(() => bodies.holdSent(anAnswer(), Buffer.alloc(6 * mebibyte), true), isUnavailable)
  assert.throws(() => bodies.holdSent(anAnswer(), 'A'.repeat(6 * mebibyte), true), isUnavailable)
  bodies.holdSent(anAnswer(), 'A'.repeat(smallBytesMax), true)
  assert.equal(bodies.held(), 6 * mebibyte)
  for (const answer of answers.slice(1)) answer.emit('close')
  assert.equal(bodies.held(), 6 * mebibyte)
  answers[0]?.emit('close')
  assert.equal(bodies.held(), 0)
})

test('the response of a finished operation is not refused, and takes its share', () => {
  const bodies = createLargeBodies(2 * mebibyte)
  bodies.holdAnswer(anAnswer(), 2 * mebibyte)
  const answers = [anAnswer(), anAnswer()] as const
  bodies.holdSent(answers[0], 'A'.repeat(2 * mebibyte), false)
  bodies.holdSent(answers[1], Buffer.alloc(2 * mebibyte), false)
  assert.equal(bodies.held(), 6 * mebibyte)
  for (const answer of answers) answer.emit('close')
  assert.equal(bodies.held(), 2 * mebibyte)
})

test('a caller that has hung up takes nothing, since nothing would give it back', () => {
  const bodies = createLargeBodies()
  for (const gone of [{ destroyed: true }, { closed: true }]) {
    const answer = Object.assign(anAnswer(), gone)
    assert.throws(() => bodies.holdAnswer(answer, 2 * mebibyte), Refusal)
  }
  assert.equal(bodies.held(), 0)
})

test('an announced length takes nothing, and neither does a small or too large body', () => {
  for (const headers of [
    {},
    { 'content-length': String(smallBytesMax) },
    { 'content-length': String(8 * mebibyte) },
    { 'content-length': String(8 * mebibyte + 1) },
    { 'transfer-encoding': 'chunked' },
  ]) {
    const bodies = createLargeBodies()
    bodies.holdBody(saying(headers as Record<string, string>), anAnswer(), 8 * mebibyte)
    assert.equal(bodies.held(), 0)
  }
})

test('a body without a length takes what has arrived', () => {
  const bodies = createLargeBodies(2 * mebibyte)
  const answer = anAnswer()
  const hold = bodies.holdBody(saying({ 'transfer-encoding': 'chunked' }), answer, 8 * mebibyte)
  hold?.(smallBytesMax)
  assert.equal(bodies.held(), 0)
  hold?.(smallBytesMax + 1)
  assert.equal(bodies.held(), smallBytesMax + 1)
  hold?.(2 * mebibyte)
  assert.throws(() => hold?.(2 * mebibyte + 1), isUnavailable)
  assert.equal(bodies.held(), 2 * mebibyte)
  answer.emit('close')
  assert.equal(bodies.held(), 0)
})

test('one owner takes at most half of the room, or one larger thing', () => {
  const bodies = createLargeBodies(10 * mebibyte)
  const of = (owner: string) => {
    const answer = anAnswer()
    bodies.ownedBy(answer, owner)
    return answer
  }
  const mine = [of('mine'), of('mine'), of('mine')] as const
  arrive(bodies, 2 * mebibyte, mine[0])
  bodies.holdAnswer(mine[1], 3 * mebibyte)
  bodies.holdAnswer(mine[1], 2 * mebibyte)
  assert.throws(() => bodies.holdAnswer(mine[2], smallBytesMax + 1), isOwnShare)
  assert.throws(() => bodies.holdSent(of('mine'), Buffer.alloc(mebibyte), true), isOwnShare)
  const more = saying({ 'content-length': String(mebibyte) })
  assert.throws(() => bodies.holdBody(more, of('mine'), 8 * mebibyte), isOwnShare)
  const theirs = of('theirs')
  bodies.holdSent(theirs, Buffer.alloc(5 * mebibyte), true)
  assert.equal(bodies.held(), 10 * mebibyte)
  assert.throws(() => bodies.holdAnswer(of('third'), 2 * mebibyte), isUnavailable)
  for (const answer of [...mine, theirs]) answer.emit('close')
  bodies.holdAnswer(of('mine'), 9 * mebibyte)
  assert.equal(bodies.held(), 9 * mebibyte)
})

test('one caller of an owner takes at most half of the owner’s share, or one larger thing', () => {
  const bodies = createLargeBodies(16 * mebibyte)
  const of = (owner: string, caller: string) => {
    const answer = anAnswer()
    bodies.ownedBy(answer, owner, caller)
    return answer
  }
  const slow = of('workspace', 'a member')
  bodies.holdAnswer(slow, 4 * mebibyte)
  assert.throws(() => bodies.holdAnswer(of('workspace', 'a member'), smallBytesMax + 1), isOwnShare)
  bodies.holdAnswer(of('workspace', 'the owner'), 4 * mebibyte)
  bodies.holdAnswer(of('elsewhere', 'a member'), 8 * mebibyte)
  slow.emit('close')
  bodies.holdAnswer(of('workspace', 'a member'), 4 * mebibyte)
  assert.equal(bodies.held(), 16 * mebibyte)
})
