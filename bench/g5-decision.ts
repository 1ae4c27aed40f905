import type { Arm, Bench } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import type { DecisionCounts, DecisionPlan } from './service/decision-process.ts'

/** The decision alone, in memory: both stores decide a batch of checks with this code. */
export const bench: Bench = {
  name: 'G5',
  title: 'Deciding and charging in memory, against rate-limiter-flexible’s memory store',
  goal: { metric: 'decisions/s', direction: 'at least', floor: 1, moonshot: 5 },
  async arms() {
    const script = new URL('service/decision-process.ts', import.meta.url).href
    const arm = (work: DecisionPlan['work'], role: Arm['role']): Arm => ({
      name: work,
      role,
      async measure({ seconds }) {
        const plan = { work, callers: 1_000, seconds }
        const { perSecond, answer } = await runGenerator<DecisionPlan, DecisionCounts>(
          script,
          plan,
          SERVER_CORE,
        )
        return { values: { 'decisions/s': perSecond }, answer }
      },
    })
    return [arm('keyrail', 'subject'), arm('rate-limiter-flexible', 'control')]
  },
}
