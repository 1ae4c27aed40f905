import type { IncomingMessage, ServerResponse } from 'node:http'
import { Company } from '../company.ts'
import { FairQueue, type Turn } from '../fair-queue.ts'
import { Refusal } from '../refusal.ts'
import { bodyLimit } from './body.ts'

/**
 * Large bodies that are read, parsed and stored at once, in all and of one sender: each takes some milliseconds of
 * everybody's time wherever it passes, so that those of one sender come one after the other.
 */
const limits = { places: 8, placesOfOne: 1, waitingOfOne: 64 }
/** How long a turn lasts at most, in milliseconds: a server that hangs in the midst of a body must not keep its fellows out. */
const turnMs = 1_000
/** How long one waits until it may be sent, in milliseconds. Meanwhile it stays with its sender. */
const waitMs = 3_000

/** Has senders take turns with large bodies, before the first byte of one is read. */
export interface BodyTurns {
  /**
   * Called for each request of a sender, of which most have a small body or none.
   * @returns null where the body may be read at once.
   * @throws {Refusal} `unavailable` when it would have to wait too long.
   */
  take(request: IncomingMessage, response: ServerResponse, sender: string): Promise<void> | null
}

export function createBodyTurns(): BodyTurns {
  const queue = new FairQueue(limits)
  const company = new Company()

  /** While others are about, a sender rests for as long as its last body took: half of the time is theirs. */
  const work = (response: ServerResponse, sender: string, turn: Turn) => {
    if (response.closed) {
      turn.end()
      return
    }
    const began = performance.now()
    const tooLong = setTimeout(turn.end, turnMs).unref()
    response.once('close', () => {
      clearTimeout(tooLong)
      if (company.has(sender)) setTimeout(turn.end, performance.now() - began).unref()
      else turn.end()
    })
  }
  return {
    take(request, response, sender) {
      company.note(sender)
      // One that does not say its length waits when it is there, for the thread that parses it.
      if (!(Number(request.headers['content-length']) > bodyLimit)) return null
      const turn = queue.take(sender)
      if (turn === null) throw tooMany()
      if (turn.come === null) {
        work(response, sender, turn)
        return null
      }
      return waitFor(turn).then(() => work(response, sender, turn))
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

const tooMany = () =>
  new Refusal('unavailable', 'Too many large bodies of yours are on their way already.', {
    headers: { 'retry-after': '1' },
  })
