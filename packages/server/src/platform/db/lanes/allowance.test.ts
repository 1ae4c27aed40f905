import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type CountedEnv, createAllowance, fullProjects, type ProjectEnv } from './allowance.ts'

interface Facts {
  unprovenPart?: number
  isProven?: boolean
  projectIds?: string[]
}

function stage(limit = 3_200, { unprovenPart = 1, isProven = true, projectIds = [] }: Facts = {}) {
  const time = { now: 0 }
  const stored = new Map<string, number>()
  const counts: string[] = []
  const warned: unknown[] = []
  let failure: Error | null = null
  const sumOf = ({ workspaceId, env, projectId }: CountedEnv) => {
    let sum = 0
    const start = `${workspaceId} ${env} `
    for (const [name, held] of stored)
      if (projectId === null ? name.startsWith(start) : name === start + projectId) sum += held
    return sum
  }
  const allowance = createAllowance({
    limit,
    unprovenPart,
    monotonic: () => time.now,
    log: { warn: (...line: unknown[]) => void warned.push(line) } as never,
    async count(place) {
      counts.push(nameOf(place))
      if (failure !== null) throw failure
      return { held: sumOf(place), isProven, projectIds }
    },
  })
  const write = async (workspaceId: string, more: number, over: Partial<ProjectEnv> = {}) => {
    const place = { workspaceId, env: 'live', projectId: 'p', ...over }
    const mayWrite = allowance.hasQuota(place, more)
    if (mayWrite) {
      stored.set(nameOf(place), (stored.get(nameOf(place)) ?? 0) + more)
      allowance.add(place, more)
    }
    await setImmediate()
    return mayWrite
  }
  /** Writes again and again, while the clock goes on. @returns how much was written. */
  const fill = async (workspaceId: string, over: Partial<ProjectEnv> = {}, times = 200) => {
    let written = 0
    for (let i = 0; i < times; i++) {
      time.now += 60_000
      if (await write(workspaceId, 100, over)) written += 100
    }
    return written
  }
  const fail = (error: Error | null) => {
    failure = error
  }
  return { time, stored, counts, warned, allowance, write, fill, fail }
}

const nameOf = ({ workspaceId, env, projectId }: CountedEnv) => `${workspaceId} ${env} ${projectId}`

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
  stored.set('a live p', 1_000)
  time.now += 60_000
  assert.equal(await write('a', 100), false, 'the first refusal starts a count')
  assert.equal(await write('a', 100), true)
})

test('writes of other processes are found by a count after a 32nd of the limit', async () => {
  const { stored, time, write } = stage()
  stored.set('a live p', 3_150)
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
  time.now += 60_000
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

test('neither test nor another project takes the room of a project', async () => {
  const { write, fill } = stage()
  assert.equal(await fill('a', { env: 'test' }), 3_200)
  assert.equal(await fill('a', { projectId: 'q' }), 3_200)
  assert.equal(await write('a', 100, { env: 'test' }), false)
  assert.equal(await write('a', 100, { projectId: 'q' }), false)
  assert.equal(await fill('a'), 3_200)
})

test('all projects of an environment together have a limit, beyond which each has its part', async () => {
  const { fill, write } = stage(3_200, { projectIds: ['p', 'q', 'r', 's', 't'] })
  let invented = 0
  for (let i = 0; i < 10; i++) invented += await fill('a', { projectId: `invented-${i}` }, 40)
  assert.equal(invented, fullProjects * 3_200)
  assert.equal(await write('a', 100, { projectId: 'another' }), false)
  assert.equal(await fill('a'), 2_500, 'a fifth of the whole, in steps of 100')
  assert.equal(await fill('a', { projectId: 'q' }), 2_500)
  assert.equal(await fill('b'), 3_200)
})

test('a workspace that is not proven has a part of every limit', async () => {
  const { fill } = stage(32_000, { unprovenPart: 0.1, isProven: false })
  assert.equal(await fill('a'), 3_200)
  const proven = stage(32_000, { unprovenPart: 0.1 })
  assert.equal(await proven.fill('a', {}, 400), 32_000)
})
