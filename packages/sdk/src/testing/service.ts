/**
 * A stand-in for the service below `fetch`. `checks.ts` and `claims.ts` answer as the service does, and `doubles.ts`
 * puts the SDK on it.
 */

import type { ConnectionOptions } from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { drawKey } from './draw-key.ts'

/** Controls the in-memory service of a test double. */
export interface TestService {
  /** Advances the service's time by milliseconds and runs what is due. Otherwise its time stands still. */
  advance(milliseconds: number): void
  /** The service is not reachable until `recover`. */
  lose(): void
  /** Ends `lose`. */
  recover(): void
}

/** The answers, by the path below `/v1/`. */
type Answers = Readonly<Record<string, (body: never) => object>>

const notInTests = {
  code: 'not_in_tests',
  detail: 'The double of the service has no such call: give createTestKeyrail an admin with your own answers',
}
const firstKey = drawKey('krsk_live_')

/**
 * Stands in for the service below `fetch`, so that everything above is production code. Its time begins at 0, where every
 * window begins.
 */
export function openTestService(answersAt: (now: () => number) => Answers, status = 200) {
  let time = 0
  let isAway = false
  const waiting = new Set<{ due: number; work: () => void }>()
  const answers = answersAt(() => time)
  /** Runs work when the test advances the time far enough, or when real time passes, whichever is first. */
  const timer: Timer = {
    after(milliseconds, work, keepsAlive) {
      const due = time + milliseconds
      const cancel = () => {
        cancelReal()
        waiting.delete(entry)
      }
      const entry = {
        due,
        work() {
          cancel()
          work()
        },
      }
      const cancelReal = systemTimer.after(milliseconds, entry.work, keepsAlive)
      waiting.add(entry)
      return cancel
    },
  }
  const hands: TestService = {
    advance(milliseconds) {
      time += readInteger('milliseconds', milliseconds, 0, Number.MAX_SAFE_INTEGER)
      for (const { due, work } of waiting) if (due <= time) work()
    },
    lose() {
      isAway = true
    },
    recover() {
      isAway = false
    },
  }
  const connection: Required<Omit<ConnectionOptions, 'insecure'>> = {
    url: 'http://localhost',
    secretKey: firstKey,
    async fetch(url, asked) {
      if (isAway) throw { code: 'ECONNREFUSED' }
      const answer = answers[String(url).replace(/^.*\/v1\//, '')]
      if (answer === undefined) return Response.json(notInTests, { status: 404 })
      return Response.json(answer(JSON.parse(String(asked?.body)) as never), { status })
    },
  }
  return { connection, hands, timer, now: () => time }
}
