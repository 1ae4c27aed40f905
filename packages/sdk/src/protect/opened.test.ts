import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestKeyring } from '../testing.ts'
import { createOpener } from './opened.ts'

const failing = () => Promise.reject(new Error('wrong secret'))

test('a failure to open is shared for a while, and then retried once for all', async () => {
  const time = { now: 0 }
  const opened = createOpener(() => time.now)
  const keyring = createTestKeyring()
  let calls = 0
  let open = failing
  const route = () => {
    calls++
    return open()
  }
  for (let round = 0; round < 3; round++) await assert.rejects(opened(route), /wrong secret/)
  time.now += 4_999
  await assert.rejects(opened(route), /wrong secret/)
  assert.equal(calls, 1)
  time.now += 1
  await Promise.all([assert.rejects(opened(route), /wrong/), assert.rejects(opened(route), /wrong/)])
  assert.equal(calls, 2)
  time.now += 5_000
  open = async () => ({ keyring }) as never
  const [one, other] = await Promise.all([opened(route), opened(route)])
  time.now += 5_000
  assert.deepEqual(
    [one.keyring, one === other, one === (await opened(route)), calls],
    [keyring, true, true, 3],
  )
})

test('a call that neither opened nor failed, as of a worker’s lost request, is made again', async () => {
  const time = { now: 0 }
  const opened = createOpener(() => time.now)
  const keyring = createTestKeyring()
  let calls = 0
  const route = () => {
    calls++
    return calls === 1 ? new Promise<never>(() => {}) : (Promise.resolve({ keyring }) as never)
  }
  void opened(route)
  time.now = 29_999
  void opened(route)
  assert.equal(calls, 1)
  time.now = 30_000
  assert.equal((await opened(route)).keyring, keyring)
  time.now = 1_000_000
  await opened(route)
  assert.equal(calls, 2)
})
