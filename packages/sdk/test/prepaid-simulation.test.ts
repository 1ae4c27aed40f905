import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PrepayOptions } from '../src/limits/prepay.ts'
import type { RateLimit } from '../src/store/rate-limits.ts'
import { hourly } from './limited.ts'
import { type Outcome, type Play, play } from './prepaid-play.ts'

/** How few calls units ahead cost, and what passes, for whole histories of requests. */

const ANSWERS_MS = [2, 20, 80, 220]
const MINUTE = 60_000

/** Deterministic numbers from 0 to 1: mulberry32. */
function draws(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** When requests arrive, at a rate of so many a ms. */
const histories = {
  *steady(rate: number, until: number) {
    for (let at = 0; at < until; at += 1 / rate) yield Math.floor(at)
  },
  *random(rate: number, until: number, draw: () => number) {
    for (let at = 0; at < until; at += Math.log(1 / (1 - draw())) / rate) yield Math.floor(at)
  },
  *bursts(rate: number, until: number) {
    for (let at = 0; at < until; at += 250) for (let n = 0; n < rate * 250; n++) yield at
  },
}
type History = keyof typeof histories

interface Scene {
  rules: RateLimit[]
  /** Requests a ms, at all servers together. */
  rate: number
  windows?: number
  nodes?: number
  options?: PrepayOptions
}

function toPlay(
  { rules, rate, windows = 2.4, nodes = 2, options = {} }: Scene,
  history: History,
  answerMs: number,
): Play {
  const draw = draws(answerMs)
  const { windowMs } = rules[0] as RateLimit
  const times = [...histories[history](rate, windows * windowMs, draw)]
  const requests = times.map(at => ({ at, node: Math.floor(draw() * nodes) }))
  return { rules, requests, nodes, answerMs, options, warmMs: windowMs / 4 }
}

const short = (limit: number, more: Partial<RateLimit> = {}) =>
  hourly(limit, { id: 'short', windowMs: 2_500, ...more })

test('a hot key costs at most 0.05 calls a request at every answer time, and all of it passes', async () => {
  for (const history of ['steady', 'random', 'bursts'] as const) {
    for (const answerMs of ANSWERS_MS) {
      const { calls, over, passed } = await play(
        toPlay({ rules: [short(2_500)], rate: 0.8 }, history, answerMs),
      )
      const what = `${history}, ${answerMs} ms`
      assert.ok(calls <= 0.05, `${what}: ${calls} calls a request`)
      assert.deepEqual([over, passed], [0, 1], what)
    }
  }
})

test('99 of 100 requests of a hot key wait for nothing, and the others where windows meet', async () => {
  const scene = { rules: [hourly(30_000, { windowMs: MINUTE })], rate: 0.3, windows: 1.2 }
  for (const history of ['steady', 'random'] as const) {
    for (const answerMs of ANSWERS_MS) {
      const { waits } = await play(toPlay(scene, history, answerMs))
      const aroundMs = 2 * answerMs + 20
      const waited = waits.filter(({ ms }) => ms > 0)
      const what = `${history}, ${answerMs} ms: ${waited.length} of ${waits.length}`
      assert.ok(waited.length < waits.length / 100, what)
      // Requests that come at random may meet a pool that is just low.
      const within = waited.filter(({ askedAt }) => (askedAt + aroundMs) % MINUTE > 2 * aroundMs)
      assert.ok(
        within.length <= (history === 'steady' ? 0 : waits.length / 1_000),
        `${within.length}, ${what}`,
      )
    }
  }
})

test('no more passes than the limits allow, and at least 999 of 1,000 that fit', async () => {
  const scenes: Record<string, Scene> = {
    'over a fixed limit': { rules: [short(1_500)], rate: 0.8 },
    'far over a fixed limit': { rules: [hourly(1_200, { windowMs: MINUTE })], rate: 0.06, windows: 2 },
    'over a sliding limit': { rules: [short(666, { algorithm: 'sliding' })], rate: 0.4 },
    'a small limit': { rules: [short(20)], rate: 0.05, windows: 6 },
    'twenty servers': { rules: [short(667)], rate: 0.4, nodes: 20 },
    'two limits': {
      rules: [short(400), hourly(700, { id: 'long', windowMs: 10_000 })],
      rate: 0.2,
      windows: 4,
    },
  }
  for (const [name, scene] of Object.entries(scenes)) {
    for (const history of ['steady', 'random', 'bursts'] as const) {
      for (const answerMs of ANSWERS_MS) {
        const { over, passed } = await play(toPlay(scene, history, answerMs))
        assert.equal(over, 0, `${name}, ${history}, ${answerMs} ms`)
        assert.ok(passed >= 0.999, `${name}, ${history}, ${answerMs} ms: ${passed}`)
      }
    }
  }
})

test('units that gather cost fewer than half the calls, and 96 of 100 still pass', async () => {
  const rules = [short(600, { windowMs: 20_000, algorithm: 'sliding' })]
  for (const history of ['steady', 'random'] as const) {
    for (const answerMs of ANSWERS_MS) {
      const [each, gathered] = [{}, { gather: true }].map(options =>
        play(toPlay({ rules, rate: 0.06, windows: 3, options }, history, answerMs)),
      ) as [Promise<Outcome>, Promise<Outcome>]
      const { calls, over, passed } = await gathered
      const what = `${history}, ${answerMs} ms`
      assert.equal(over, 0, what)
      assert.ok(calls < (await each).calls / 2, `${what}: ${calls} calls a request`)
      assert.ok(passed >= 0.96, `${what}: ${passed}`)
    }
  }
})
