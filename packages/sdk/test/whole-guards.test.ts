import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createTestKeyrail, createTestLimiter } from '../src/testing.ts'
import { type Answer, chains } from './chains-apis.ts'

/** A guard that is given a whole `Keyrail` enforces what the policy of a key says, and charges a request once. */

const minute = (limit: number) => ({
  id: 'minute',
  limit,
  windowMs: 60_000,
  algorithm: 'fixed',
  scope: 'key',
})

function open(limit: number) {
  const whole = createTestKeyrail()
  const { key, keyId } = whole.issue({ rateLimits: [minute(limit)] })
  return { whole, key, keyId }
}

async function times(count: number, ask: () => Promise<Answer>): Promise<[number, string | null][]> {
  const answers: [number, string | null][] = []
  for (let at = 0; at < count; at++) {
    const { status, ratelimit } = await ask()
    answers.push([status, /;r=(\d+)/.exec(ratelimit ?? '')?.[1] ?? null])
  }
  return answers
}

async function warningsDuring(work: () => Promise<unknown>): Promise<string[]> {
  const codes: string[] = []
  const note = (warning: Error & { code?: string }) => codes.push(String(warning.code))
  process.on('warning', note)
  await work()
  // Warnings are emitted in order, after the work that caused them.
  const last = once(process, 'warning')
  process.emitWarning('last', { code: 'last' })
  await last
  process.off('warning', note)
  return codes.filter(code => code !== 'last')
}

for (const [name, make] of Object.entries(chains)) {
  test(`${name}: a whole Keyrail enforces the limits of keys that have any, and counts`, async () => {
    const { whole, key, keyId } = open(2)
    const free = whole.issue()
    const ask = await make({ whole, guards: [{}] })
    const codes = await warningsDuring(async () => {
      assert.deepEqual(await times(3, () => ask(key)), [
        [200, '1'],
        [200, '0'],
        [429, '0'],
      ])
      assert.deepEqual(await times(3, () => ask(free.key)), Array(3).fill([200, null]))
    })
    assert.deepEqual(await whole.usage.reported(), { [keyId]: 2, [free.keyId]: 3 })
    assert.equal(whole.limiter.stats().calls, 3)
    assert.deepEqual(codes, [])
  })

  test(`${name}: a request is charged and counted once behind three guards and two limits`, async () => {
    const { whole, key, keyId } = open(2)
    const limits = [{ limiter: whole }, { limiter: whole.limiter }]
    const ask = await make({ whole, guards: [{}, {}, { limiter: whole, usage: whole }], limits })
    assert.deepEqual(await times(3, () => ask(key)), [
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ])
    assert.deepEqual(await whole.usage.reported(), { [keyId]: 2 })
  })

  test(`${name}: of several costs a request is charged the highest`, async () => {
    const { whole, key } = open(9)
    const ask = await make({ whole, guards: [{}, { cost: 4 }] })
    assert.deepEqual(await times(3, () => ask(key)), [
      [200, '5'],
      [200, '1'],
      // Where the first guard does not know the cost of the route, it has taken the last unit.
      [429, name === 'Fastify' ? '1' : '0'],
    ])
  })

  test(`${name}: limiter: false and usage: false turn a part off`, async () => {
    const { whole, key, keyId } = open(1)
    const unlimited = await make({ whole, guards: [{ limiter: false }] })
    const codes = await warningsDuring(async () => {
      assert.deepEqual(await times(2, () => unlimited(key)), Array(2).fill([200, null]))
    })
    assert.deepEqual(codes, [])
    assert.deepEqual(await whole.usage.reported(), { [keyId]: 2 })
    const uncounted = await make({ whole, guards: [{ usage: false }] })
    assert.deepEqual(await times(2, () => uncounted(key)), [
      [200, '0'],
      [429, '0'],
    ])
    assert.deepEqual(await whole.usage.reported(), { [keyId]: 2 })
  })

  test(`${name}: a keyring alone warns once that nothing asks about the limits of a key`, async () => {
    const { whole, key } = open(1)
    const { key: free } = whole.issue()
    const { keys: keyring } = whole
    const ask = await make({ whole, guards: [{ keyring }] })
    const failing = await make({ whole, guards: [{ keyring }], status: 503 })
    assert.deepEqual(await warningsDuring(() => Promise.all([ask(free), failing(key)])), [])
    assert.deepEqual(await warningsDuring(() => times(3, () => ask(key))), ['limits_unasked'])
    const own = createTestLimiter()
    const { whole: other, key: limited } = open(9)
    const asking = await make({ whole: other, guards: [{ keyring: other.keys, limiter: own }] })
    assert.deepEqual(await warningsDuring(() => asking(limited)), [])
  })
}

for (const name of ['Express 4', 'Express 5', 'Hono'] as const) {
  test(`${name}: limit behind a guard charges what its cost exceeds that of the guard`, async () => {
    const { whole, key } = open(9)
    const ask = await chains[name]?.({ whole, guards: [{}], limits: [{ limiter: whole, cost: 4 }] })
    assert.ok(ask)
    assert.deepEqual(await times(2, () => ask(key)), [
      [200, '5'],
      [200, '1'],
    ])
    const { whole: other, key: own } = open(9)
    const limiter = createTestLimiter()
    const both = await chains[name]?.({ whole: other, guards: [{}], limits: [{ limiter, cost: 4 }] })
    assert.ok(both)
    assert.deepEqual(await times(1, () => both(own)), [[200, '5']])
    assert.equal(other.limiter.stats().calls, 1)
  })

  test(`${name}: a limit behind a guard with a keyring alone asks, so nothing warns`, async () => {
    const { whole, key } = open(1)
    const guards = [{ keyring: whole.keys }, { keyring: whole.keys }]
    const ask = await chains[name]?.({ whole, guards, limits: [{ limiter: whole }] })
    assert.ok(ask)
    assert.deepEqual(
      await warningsDuring(async () => {
        assert.deepEqual(
          (await times(2, () => ask(key))).map(([status]) => status),
          [200, 429],
        )
      }),
      [],
    )
  })
}
