import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../refusal.ts'
import { bodyLimit } from './body.ts'

/** Of large bodies and answers at once, over all requests of the process. A few times as much memory is used. */
export const largeBytesMax = 64 * 1_048_576

/** What is large takes its share of the memory before it is read, and gives it back when its request is over. */
export interface LargeBodies {
  /**
   * Takes the bytes of an answer, unless it is a small one.
   * @throws {Refusal} `unavailable` when others have taken what there is.
   */
  holdAnswer(response: ServerResponse, bytes: number): void
  /** Takes the bytes of a request's body that is still to be read: as many as it says, or as many as it may have. */
  holdBody(request: IncomingMessage, response: ServerResponse, bytesMax: number): void
  /** Bytes that are taken now. */
  held(): number
}

export function createLargeBodies(bytesMax: number = largeBytesMax): LargeBodies {
  let held = 0
  const hold = (response: ServerResponse, bytes: number) => {
    if (bytes <= bodyLimit) return
    // Who has hung up already closes no more, and would keep what it takes.
    if (response.destroyed || response.closed) throw new Refusal('unavailable')
    if (held + bytes > bytesMax) throw new Refusal('unavailable', '', { headers: { 'retry-after': '1' } })
    held += bytes
    // It closes after its last byte, and when the caller hangs up.
    response.once('close', () => {
      held -= bytes
    })
  }
  return {
    holdAnswer: hold,
    holdBody(request, response, most) {
      if (most <= bodyLimit) return
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      // One that says that it is too large is refused, and not read.
      const bytes = length === undefined ? (encoding === undefined ? 0 : most) : Number(length)
      if (bytes <= most) hold(response, bytes)
    },
    held: () => held,
  }
}
