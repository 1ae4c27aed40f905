import { setImmediate as turn } from 'node:timers/promises'
import { type Asked, beyondLimits, passedByModel } from '../../../bench/service/prepaid-model.ts'
import { toVerdict } from '../../server/src/ratelimit/answer.ts'
import { type Counters, charge } from '../../server/src/ratelimit/fold.ts'
import type { Rule } from '../../server/src/ratelimit/window.ts'
import { readAnswer } from '../src/limits/answer.ts'
import type { Ask } from '../src/limits/buyer.ts'
import { Charger } from '../src/limits/charger.ts'
import { Denials } from '../src/limits/denials.ts'
import { type PrepayOptions, readPrepay, shortMemory } from '../src/limits/prepay.ts'
import { type RateLimit, toWireRateLimits } from '../src/store/rate-limits.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { someKey } from './limited.ts'

/** Servers that charge units ahead, in front of one service, in a time that passes from event to event. */
export interface Play {
  rules: readonly RateLimit[]
  /** When requests arrive, in whole ms, and at which server; in order. */
  requests: readonly Request[]
  nodes: number
  /** From a question to its answer. */
  answerMs: number
  options?: PrepayOptions
  /** The calls and waits of requests before this time are not counted. */
  warmMs: number
}
interface Request {
  at: number
  node: number
}

/** What came of the requests. */
export interface Outcome {
  /** Checks of a request. */
  calls: number
  /** When each request was asked, and how long it waited, in ms. */
  waits: { askedAt: number; ms: number }[]
  /** Requests that passed beyond the limits. */
  over: number
  /** What passed, in parts of what an exact limiter without a network lets pass. */
  passed: number
}

export async function play({
  rules,
  requests,
  nodes,
  answerMs,
  warmMs,
  options = {},
}: Play): Promise<Outcome> {
  const world = new World(answerMs)
  const chargers = Array.from({ length: nodes }, () => world.openCharger(options))
  const asked: Asked[] = []
  const key: Valid = { ...someKey, rateLimits: rules }
  for (const { at, node } of requests) {
    await world.advance(at)
    if (at < warmMs) world.checks = 0
    void chargers[node]?.charge(key, rules, 1).then(({ allowed }) => {
      asked.push({ key: 0, askedAt: at, answeredAt: world.now, passed: allowed })
    })
    for (let hops = 0; hops < 4; hops++) await null
  }
  await world.advance(world.now + 4 * answerMs)
  const wire = wireRules(rules)
  const judged = asked.filter(({ askedAt }) => askedAt >= warmMs)
  return {
    calls: world.checks / judged.length,
    waits: judged.map(({ askedAt, answeredAt }) => ({ askedAt, ms: answeredAt - askedAt })),
    over: beyondLimits(wire, asked),
    passed: asked.filter(({ passed }) => passed).length / passedByModel(wire, asked, []),
  }
}

const wireRules = (rules: readonly RateLimit[]) => toWireRateLimits(rules) as Rule[]

class World {
  now = 0
  checks = 0
  readonly #answerMs: number
  readonly #counters: Counters = []
  /** In order: all answers take equally long. */
  readonly #events: { at: number; run: () => void }[] = []

  constructor(answerMs: number) {
    this.#answerMs = answerMs
  }

  openCharger(options: PrepayOptions): Charger {
    const now = () => this.now
    const ask: Ask = (_, rules, cost) => {
      this.checks += 1
      return new Promise(resolve => {
        this.#after(this.#answerMs / 2, () => {
          const asked = { ...someCheck, cost, rules: wireRules(rules) }
          const verdict = toVerdict(
            asked,
            charge(asked, () => this.#counters, this.now),
          )
          this.#after(this.#answerMs / 2, () => resolve(readAnswer({ ...verdict }, rules)))
        })
      })
    }
    const prepay = readPrepay(options)
    const denials = new Denials(prepay?.denials ?? shortMemory)
    const world = { ask, denials, now, background: (work: () => void) => work() }
    return new Charger({ ...world, passes: () => false, onUnused: () => {} }, prepay)
  }

  async advance(until: number): Promise<void> {
    for (;;) {
      const next = this.#events[0]
      if (next === undefined || next.at > until) break
      this.#events.shift()
      this.now = next.at
      next.run()
      await turn()
    }
    this.now = until
  }

  #after(milliseconds: number, run: () => void): void {
    this.#events.push({ at: this.now + milliseconds, run })
  }
}

const someCheck = { workspaceId: '', projectId: '', env: 'live', keyId: null, tenantId: null } as const
