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
