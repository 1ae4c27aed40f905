import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import type { RateLimitCheck, RateLimitVerdict } from '@keyrail/contract/ratelimit'
import { type Limiter, type LimiterOptions, openLimiter } from '../src/limits/limit.ts'
import type { LimitVerdict } from '../src/limits/verdict.ts'
import { toWireRateLimits } from '../src/store/rate-limits.ts'
import { answerChecks } from '../src/testing/checks.ts'
import type { Valid } from '../src/verify/verdict.ts'
import { drawKey, id } from './keys.ts'

/** What happens to a call. Lost: never reached the service. Unanswered: reached it, and the answer is lost. */
export type Fate = 'answered' | 'lost' | 'unanswered'

/** Plans the next call: what happens to it, and how many ms it takes to the service and back. */
export type PlanCall = () => { fate: Fate; thereMs: number; backMs: number }

/** A request that passed, and when each of its limits was charged or its unit taken; undefined if that cannot be known. */
export interface Passed {
  key: Valid
  cost: number
  at: ReadonlyMap<string, number | undefined>
}

type Times = Map<string, number | null>

/**
 * Servers with limiters in front of one service, in a time that stands still between events. The service answers as the
 * real one does; `test/doubles-checks.test.ts` compares them.
 */
export class CheckedFleet {
  readonly passed: Passed[] = []
  readonly bodies: RateLimitCheck[] = []
  /** Units that the service has charged. */
  charged = 0
  /** Units that a server may think charged, because it got no answer, and that are not. */
  unsure = 0
  now = 0
  readonly #plan: PlanCall
  readonly #startedAt: number
  readonly #events: { at: number; run: () => void }[] = []
  readonly #asking = new AsyncLocalStorage<Times>()
  readonly #answers = answerChecks(() => this.serviceTime)
  /** Changes what the service answers. */
  edit: (answer: RateLimitVerdict) => object = answer => answer

  /** @param startedAt the service's clock at the beginning */
  constructor(plan: PlanCall, startedAt = 0) {
    this.#plan = plan
    this.#startedAt = startedAt
  }

  get serviceTime(): number {
    return this.#startedAt + this.now
  }

  /** @param clock the monotonic clock of the server, which begins anywhere */
  openNode(options: Partial<LimiterOptions> = {}, clock: () => number = () => this.now): Limiter {
    const connection = { url: 'https://keys.example.com', secretKey: drawKey('krsk_live'), project: id(3) }
    const fetch = (_: unknown, init?: RequestInit) => this.#call(JSON.parse(String(init?.body)))
    return openLimiter(
      { ...connection, fetch, onError: () => {}, prepay: {}, ...options },
      {
        now: clock,
        later: work => work(),
        // It belongs to no request.
        background: work => this.#asking.run(new Map(), work),
      },
    )
  }

  /** Asks a limiter, and notes when what passed was charged. */
  ask(limiter: Limiter, key: Valid, cost = 1): Promise<LimitVerdict> {
    const askedAt = this.serviceTime
    const times: Times = new Map()
    return this.#asking.run(times, async () => {
      const held = limiter.stats().unitsHeld
      const judged = limiter.limit(key, { cost })
      const taken = held - limiter.stats().unitsHeld
      const verdict = await judged
      if (verdict.code === 'allowed') {
        const rules = key.rateLimits ?? []
        const end = this.serviceTime
        const called = rules.filter(({ id }) => times.has(id)).length
        const isAtOnce = taken === cost * (rules.length - called)
        // One limit waits until the end; one of several, for an unknown time.
        const unasked = isAtOnce ? askedAt : rules.length === 1 ? end : undefined
        // Null: a call about it brought nothing, so its unit was taken in the end.
        const at = rules.map(({ id }) => [id, times.has(id) ? (times.get(id) ?? end) : unasked] as const)
        this.passed.push({ key, cost, at: new Map(at) })
      }
      return verdict
    })
  }

  /** Lets time pass, event by event. */
  async advance(milliseconds: number): Promise<void> {
    const until = this.now + milliseconds
    await settled()
    for (;;) {
      this.#events.sort((one, other) => one.at - other.at)
      const next = this.#events[0]
      if (next === undefined || next.at > until) break
      this.#events.shift()
      this.now = Math.max(this.now, next.at)
      next.run()
      await settled()
    }
    this.now = Math.max(this.now, until)
  }

  /** Lets time pass while nothing runs: what was due happens after it. */
  jump(milliseconds: number): void {
    this.now += milliseconds
  }

  #call(body: RateLimitCheck): Promise<Response> {
    const times = this.#asking.getStore()
    this.bodies.push(body)
    const { fate, thereMs, backMs } = this.#plan()
    for (const { id } of body.limits) times?.set(id, null)
    return new Promise((resolve, reject) => {
      const fail = () => reject(Object.assign(new Error('lost'), { code: 'ECONNRESET' }))
      this.#after(thereMs, () => {
        const units = (body.cost ?? 1) * body.limits.length
        const answer = fate === 'lost' ? undefined : this.#answers['ratelimit/check'](body)
        if (answer?.allowed) this.charged += units
        else if (fate !== 'answered') this.unsure += units
        if (answer === undefined) return fail()
        const at = this.serviceTime
        this.#after(backMs, () => {
          if (fate === 'unanswered') return fail()
          if (answer.allowed) for (const { id } of body.limits) times?.set(id, at)
          resolve(Response.json(this.edit(answer)))
        })
      })
    })
  }

  #after(milliseconds: number, run: () => void): void {
    if (milliseconds === 0) run()
    else this.#events.push({ at: this.now + milliseconds, run })
  }
}

/** Until what an event has caused has happened. A body is read in several steps. */
async function settled(): Promise<void> {
  for (let n = 0; n < 3; n++) await turn()
}

/** The limits of a request as the service counts them. */
export const wireRules = (key: Valid) => toWireRateLimits(key.rateLimits ?? []) as RateLimitCheck['limits']
