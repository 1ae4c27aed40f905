import type { IncomingMessage, ServerResponse } from 'node:http'
import { FairQueue, type Turn } from '../../concurrency/fair-queue.ts'
import { RecentParties } from '../../concurrency/recent-parties.ts'
import { tooManyInFlight } from '../../refusal.ts'
import { bodyLimit } from './body.ts'

/**
 * How many large bodies are read, parsed and stored at once, in total and per sender. Each body takes some milliseconds of the
 * process wherever it passes, so one sender's bodies are handled one at a time.
 */
const limits = { places: 8, placesOfOne: 1, waitingOfOne: 64 }
/**
 * Bytes of large bodies that one sender may send per second while other senders are active. Each body leaves garbage, and
 * a collection stops the whole process for tens of milliseconds.
 */
const bytesPerSecond = 4 * 1_048_576
/** The longest turn, in milliseconds, so that a sender that stalls within a body does not block its own later bodies. */
const turnMs = 1_000
/** The longest wait for a turn, in milliseconds. Meanwhile the body stays with its sender. */
const waitMs = 3_000

/** Makes senders take turns with large bodies, before the first byte of a body is read. */
export interface BodyTurns {
  /**
   * Called for every request of a sender, most of which have a small body or none.
   * @returns null if the body may be read at once.
   * @throws {Refusal} `too_many_in_flight` if the wait would be too long.
   */
  take(request: IncomingMessage, response: ServerResponse, sender: string): Promise<void> | null
}

export function createBodyTurns(): BodyTurns {
  const queue = new FairQueue(limits)
  const recent = new RecentParties()

  /**
   * While other senders are active, a sender rests at least as long as its last body took, which leaves half of the time to
   * them.
   */
  const work = (response: ServerResponse, sender: string, turn: Turn, bytes: number) => {
    if (response.closed) {
      turn.end()
      return
    }
    const began = performance.now()
    const tooLong = setTimeout(turn.end, turnMs).unref()
    response.once('close', () => {
      clearTimeout(tooLong)
      const tookMs = performance.now() - began
      const restMs = Math.max(tookMs, (1_000 * bytes) / bytesPerSecond - tookMs)
      if (recent.has(sender)) setTimeout(turn.end, restMs).unref()
      else turn.end()
    })
  }
  return {
    take(request, response, sender) {
      recent.note(sender)
      // A body of unknown length waits after it has arrived, for the thread that parses it.
      const bytes = Number(request.headers['content-length'])
      if (!(bytes > bodyLimit)) return null
      const turn = queue.take(sender)
      if (turn === null) throw tooMany()
      if (turn.come === null) {
        work(response, sender, turn, bytes)
        return null
      }
      return waitFor(turn).then(() => work(response, sender, turn, bytes))
    },
  }
}

async function waitFor(turn: Turn): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    turn.end()
    reject(tooMany())
  }, waitMs)
  await Promise.race([turn.come, promise])
  clearTimeout(timer)
}

const tooMany = () => tooManyInFlight('You are sending too many large bodies at once.')
