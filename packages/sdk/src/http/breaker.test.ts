import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withBreaker } from './breaker.ts'

const timedOut = () => Promise.reject(Object.assign(new Error('no answer'), { code: 'timeout' }))
const answered = () => Promise.resolve({ status: 200, headers: new Headers(), text: '' })
const asked = { method: 'POST', path: '/', accepts: [200], timeoutMs: 1_000, maxBytes: 1_000 } as const

test('a probe that is lost with the request of a worker blocks later calls for a limited time', async () => {
  const time = { now: 0 }
  let sent = 0
  let next: () => Promise<never> | ReturnType<typeof answered> = timedOut
  const call = withBreaker(
    () => {
      sent += 1
      return next()
    },
    () => time.now,
  )
  for (let i = 0; i < 5; i++) await assert.rejects(call(asked), { code: 'timeout' })
  next = () => new Promise<never>(() => {})
  void call(asked)
  next = answered
  await assert.rejects(call(asked), { code: 'service_hangs' })
  time.now = 5_999
  await assert.rejects(call(asked), { code: 'service_hangs' })
  assert.equal(sent, 6)
  time.now = 6_000
  await call(asked)
  await call(asked)
  assert.equal(sent, 8)
})
