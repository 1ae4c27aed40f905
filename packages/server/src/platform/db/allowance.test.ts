import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createAllowance } from './allowance.ts'

function stage(limit = 3_200) {
  const time = { now: 0 }
  const stored = new Map<string, number>()
  const counts: string[] = []
  const warned: unknown[] = []
  let failure: Error | null = null
  const allowance = createAllowance({
    limit,
    monotonic: () => time.now,
    log: { warn: (...line: unknown[]) => void warned.push(line) } as never,
    async count(workspaceId) {
      counts.push(workspaceId)
      if (failure !== null) throw failure
      return stored.get(workspaceId) ?? 0
    },
  })
  const write = async (workspaceId: string, more: number) => {
    const mayWrite = allowance.hasRoom(workspaceId, more)
    if (mayWrite) {
      stored.set(workspaceId, (stored.get(workspaceId) ?? 0) + more)
      allowance.add(workspaceId, more)
    }
    await setImmediate()
    return mayWrite
  }
  const fail = (error: Error | null) => {
    failure = error
  }
  return { time, stored, counts, warned, allowance, write, fail }
}

test('a workspace that writes little is never counted', async () => {
  const { counts, write } = stage()
  for (let i = 0; i < 99; i++) assert.equal(await write(`w${i}`, 99), true)
  assert.deepEqual(counts, [])
})

test('a workspace is held to its limit, another is not, and pruning makes room again', async () => {
  const { time, stored, write } = stage()
  let written = 0
  for (let i = 0; i < 100; i++) if (await write('a', 100)) written += 100
  assert.equal(written, 3_200)
  assert.equal(await write('b', 100), true)
  stored.set('a', 1_000)
  time.now += 60_000
  assert.equal(await write('a', 100), false, 'the first refusal starts a count')
  assert.equal(await write('a', 100), true)
})

test('writes of other processes are found by a count after a 32nd of the limit', async () => {
  const { stored, time, write } = stage()
  stored.set('a', 3_150)
  let written = 0
  for (let i = 0; i < 100; i++) {
    time.now += 60_000
    if (await write('a', 10)) written += 10
  }
  assert.equal(written, 100)
})

test('a workspace that keeps asking at its limit is counted once in 5 seconds', async () => {
  const { counts, time, write } = stage()
  for (let i = 0; i < 33; i++) await write('a', 100)
  const before = counts.length
  for (let i = 0; i < 1_000; i++) {
    time.now += 10
    assert.equal(await write('a', 100), false)
  }
  assert.ok(counts.length - before <= 2, `${counts.length - before}`)
})

test('a count that fails changes nothing, and is logged', async () => {
  const { allowance, time, write, fail, warned } = stage()
  fail(new Error('the store is away'))
  for (let i = 0; i < 32; i++) {
    time.now += 60_000
    await write('a', 100)
  }
  assert.equal(await write('a', 100), false)
  assert.ok(warned.length > 0)
  assert.equal(allowance.nearest(), 1)
  await allowance.close()
})
