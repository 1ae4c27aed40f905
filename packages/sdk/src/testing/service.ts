import type { ConnectionOptions } from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { drawKey } from './draw-key.ts'

/** What a test does to the service that a double asks. */
export interface TestService {
  /** Lets so many milliseconds pass, and does what is due then. Otherwise the time of the service stands still. */
  advance(milliseconds: number): void
  /** The service is away, until `recover`. */
  lose(): void
  /** Ends what `lose` began. */
  recover(): void
}

/** What is answered, by the path below `/v1/`. */
type Answers = Readonly<Record<string, (body: never) => object>>

const firstKey = drawKey('krsk_live_')

/**
 * Stands in for the service below `fetch`, so that all above it is what serves in production. Its time begins where every
 * window does, at 0.
 */
export function openTestService(answersAt: (now: () => number) => Answers, status = 200) {
  let time = 0
  let isAway = false
  const waiting = new Set<{ due: number; work: () => void }>()
  const answers = answersAt(() => time)
  /** What comes first: that a test lets so much time pass, or that it passes. */
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
    baseUrl: 'http://localhost',
    secretKey: firstKey,
    async fetch(url, asked) {
      if (isAway) throw { code: 'ECONNREFUSED' }
      const answer = answers[String(url).replace(/^.*\/v1\//, '')]
      if (answer === undefined) return new Response(null, { status: 404 })
      return Response.json(answer(JSON.parse(String(asked?.body)) as never), { status })
    },
  }
  return { connection, hands, timer, now: () => time }
}
