import type { Arm, Bench } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { SERVER_CORE } from './harness/pin.ts'
import type { StoreCounts, StorePlan } from './service/store-process.ts'

/** What a key costs a vendor's process: bytes, strings included, and garbage collector pauses. */

const KEYS = 1_000_000

export const bench: Bench = {
  name: 'G17',
  title: 'Memory of a million keys, and pauses of the collector, beside a plain Map of the feed',
  goal: [
    { metric: 'bytes a key', compare: 'value', direction: 'at most', floor: 640, moonshot: 256 },
    { metric: 'GC pause p99 ms', compare: 'value', direction: 'at most', floor: 5, moonshot: 5 },
  ],
  async arms(run) {
    const script = new URL('service/store-process.ts', import.meta.url).href
    const arm = (name: string, role: Arm['role'], work: StorePlan['work']): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const plan = { work, keys: KEYS, seconds }
        const { bytesPerKey, pauseP99Ms, pauses, answer } = await runGenerator<StorePlan, StoreCounts>(
          script,
          plan,
          SERVER_CORE,
        )
        return {
          values: { 'bytes a key': bytesPerKey, 'GC pause p99 ms': pauseP99Ms, 'GC pauses': pauses },
          answer,
        }
      },
    })
    run.note(
      `${KEYS} keys of 1,000 tenants, read page by page; memory is measured after looking up each key once`,
    )
    run.note('pauses are measured in the seconds after that, which only look up keys')
    return [arm('the store', 'subject', 'store'), arm('a Map of the feed', 'control', 'map')]
  },
}
