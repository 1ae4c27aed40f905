import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../observe/log.ts'
import { createStoreClock } from './store-clock.ts'

/** A store clock whose process and store have the times that the test says, in seconds. */
function openOwn() {
  const own = { process: 0, store: 1_790_000_000 }
  const logged: string[] = []
  const log = createLog('info', { write: line => logged.push(line) })
  const clock = createStoreClock({ monotonic: () => own.process * 1_000 }, log)
  const pass = (seconds: number) => {
    own.process += seconds
    own.store += seconds
  }
  return {
    own,
    clock,
    pass,
    /** @param there how long the question takes to the store. @param back how long the answer takes. */
    read(there = 0, back = 0) {
      const hear = clock.ask()
      pass(there)
      const { store } = own
      pass(back)
      hear(store * 1_000)
    },
    said: () =>
      logged.map(line => {
        const { msg, seconds } = JSON.parse(line)
        return `${msg} ${seconds}`
      }),
  }
}

test('a store that is set is noticed at the next reading, in either direction', () => {
  const { own, clock, pass, read, said } = openOwn()
  read()
  assert.equal(clock.aheadAt(), Number.NEGATIVE_INFINITY)
  pass(10)
  own.store += 3_600
  read()
  assert.equal(clock.aheadAt(), 10_000)
  pass(10)
  read()
  own.store -= 3_600
  pass(10)
  read()
  assert.equal(clock.aheadAt(), 10_000)
  assert.deepEqual(said(), [
    'the clock of the database was set ahead 3600',
    'the clock of the database was set back 3600',
  ])
})

test('a question or an answer that takes long is no step, and hides none that is longer', () => {
  const { own, clock, read, said } = openOwn()
  for (const [there, back] of [
    [0, 0],
    [30, 0],
    [0, 30],
    [30, 0],
    [0, 0],
  ])
    read(there, back)
  assert.deepEqual(said(), [])
  read(0, 30)
  own.store += 60
  read(0, 30)
  assert.notEqual(clock.aheadAt(), Number.NEGATIVE_INFINITY)
})

test('clocks that drift apart slowly are no step', () => {
  const { own, pass, read, said } = openOwn()
  for (let readings = 0; readings < 1_000; readings += 1) {
    read()
    pass(2)
    own.store += 0.5
  }
  assert.deepEqual(said(), [])
})
