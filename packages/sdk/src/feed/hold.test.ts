import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hold } from './hold.ts'

const LIFE_MS = 60_000

/** A hold on a clock that advances by how long each poll takes. */
function holding() {
  const hold = new Hold()
  const time = { now: 0 }
  const poll = (tookMs: number, works: boolean) => {
    const seconds = hold.ask(LIFE_MS, time.now)
    time.now += tookMs
    if (works) hold.answered(time.now)
    if (works) hold.succeeded(time.now)
    else hold.failed(time.now)
    return seconds
  }
  return {
    hold,
    time,
    works: (tookMs: number) => poll(tookMs, true),
    fails: (tookMs: number) => poll(tookMs, false),
  }
}

test('after a failed hold polls are plain until one succeeds, then the hold is half of it', () => {
  const { works, fails } = holding()
  assert.deepEqual([fails(20_000), fails(50), fails(50), works(50), works(10_000)], [25, 0, 0, 0, 10])
})

test('a cut hold grows after a minute, and later after each growth that fails', () => {
  const { works, fails, time } = holding()
  fails(20_000)
  const pauses: number[] = []
  for (let times = 0; times < 3; times++) {
    const from = time.now
    works(50)
    while (works(10_000) === 10);
    pauses.push(Math.floor((time.now - from) / 60_000))
    fails(20_000)
  }
  assert.deepEqual(pauses, [1, 2, 4])
})

test('a hold that outlasts what failed before forgets it', () => {
  const { hold, works, fails } = holding()
  fails(3_000)
  assert.equal(hold.cutToMs, 1_000)
  for (let times = 0; times < 200; times++) works(25_000)
  assert.deepEqual([works(25_000), hold.cutToMs], [25, Number.POSITIVE_INFINITY])
  fails(20_000)
  works(50)
  assert.equal(works(10_000), 10)
})

test('one failure at once does not cut the hold, two in a row end it for a while', () => {
  const { works, fails } = holding()
  assert.deepEqual([fails(5), works(5), fails(5), works(5), works(5)], [25, 0, 25, 0, 0])
})

test('the life that is left bounds a hold, and stale keys are never held', () => {
  const hold = new Hold()
  assert.deepEqual(
    [60_000, 35_000, 12_000, 11_999, 0, -1].map(life => hold.ask(life, 0)),
    [25, 12, 1, 0, 0, 0],
  )
})
