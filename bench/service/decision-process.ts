import { randomUUID } from 'node:crypto'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { type Check, type Counters, charge } from '../../packages/server/src/ratelimit/fold.ts'
import type { Rule } from '../../packages/server/src/ratelimit/window.ts'
import { serveGenerator } from '../harness/generator.ts'

/** One arm of the decision bench, in its own process: nothing but memory, a clock and a verdict. */
export type DecisionPlan = { work: 'keyrail' | 'rate-limiter-flexible'; callers: number; seconds: number }
export type DecisionCounts = { perSecond: number; answer: { admitted: number } }

/** Between two looks at the clock of the bench. */
const BATCH = 5_000
const WINDOW_S = 3_600

/** Charges the caller with this number. @returns whether it was allowed. */
type Decide = (caller: number) => boolean | Promise<boolean>

await serveGenerator<DecisionPlan, DecisionCounts>(async ({ work, callers, seconds }) => {
  const make = work === 'keyrail' ? ours : peer
  const answer = { admitted: await admittedOf(make(callers, 7), callers) }
  const decide = make(callers, 1_000_000_000)
  const deadline = performance.now() + seconds * 1_000
  const began = performance.now()
  let done = 0
  while (performance.now() < deadline) {
    for (let i = 0; i < BATCH; i++) {
      const verdict = decide((done + i) % callers)
      if (!(typeof verdict === 'boolean' ? verdict : await verdict)) throw new Error('a caller was refused')
    }
    done += BATCH
  }
  return { perSecond: done / ((performance.now() - began) / 1_000), answer }
})

/** Not timed: how many of ten attempts of each caller pass a limit of seven. */
async function admittedOf(decide: Decide, callers: number): Promise<number> {
  let admitted = 0
  for (let i = 0; i < callers * 10; i++) if (await decide(i % callers)) admitted++
  return admitted
}

function ours(callers: number, limit: number): Decide {
  const rule: Rule = { id: 'bench', limit, window_ms: WINDOW_S * 1_000, algorithm: 'fixed', scope: 'key' }
  const [workspaceId, projectId] = [randomUUID(), randomUUID()]
  const checks = Array.from(
    { length: callers },
    (): Check => ({
      workspaceId,
      projectId,
      env: 'live',
      keyId: randomUUID(),
      tenantId: null,
      cost: 1,
      rules: [rule],
    }),
  )
  const subjects = new Map(checks.map(({ keyId }) => [keyId, [] as Counters]))
  return caller => {
    const check = checks[caller] as Check
    return charge(check, () => subjects.get(check.keyId) as Counters, Date.now()).allowed
  }
}

function peer(callers: number, limit: number): Decide {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_S })
  const keys = Array.from({ length: callers }, () => randomUUID())
  return caller =>
    limiter.consume(keys[caller] as string).then(
      () => true,
      () => false,
    )
}
