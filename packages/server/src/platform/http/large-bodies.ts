import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../refusal.ts'
import { bodyLimit } from './body.ts'

/** Of bodies and answers at once, over all requests of the process. A few times as much memory is used. */
export const largeBytesMax = 64 * 1_048_576
/** Of those that come with a signature in place of a credential. */
export const signedBytesMax = 16 * 1_048_576
/** Beside it for what is no larger than a body usually may be, so that a few large ones do not turn it away. */
export const mediumBytesMax = 16 * 1_048_576
/** What is smaller takes nothing: as many of them as wait for a lane, 20,000, are not much more than the others. */
export const smallBytesMax = 4_096

/** What is large takes its share of the memory before it is there, and gives it back when its request is over. */
export interface LargeBodies {
  /**
   * Takes the bytes of an answer, unless it is a small one. For another answer to the same request it takes what that
   * one is larger.
   * @throws {Refusal} `unavailable` when others have taken what there is.
   */
  holdAnswer(response: ServerResponse, bytes: number): void
  /**
   * Takes the bytes of a request's body that is still to be read, where it may be large: as many as it says; where it
   * does not say, those that arrive, when they do.
   */
  holdBody(request: IncomingMessage, response: ServerResponse, bytesMax: number): void
  /** Bytes that are taken now. */
  held(): number
}

/** Takes as many bytes as it is told, in all. */
type Share = (bytes: number) => void

export function createLargeBodies(bytesMax: number = largeBytesMax): LargeBodies {
  let held = 0
  const answers = new WeakMap<ServerResponse, Share>()
  const openShare = (response: ServerResponse): Share => {
    let own = 0
    return bytes => {
      if (bytes <= Math.max(own, smallBytesMax)) return
      // Who has hung up already closes no more, and would keep what it takes.
      if (response.destroyed || response.closed) throw new Refusal('unavailable')
      const most = bytes > bodyLimit ? bytesMax : bytesMax + mediumBytesMax
      if (held - own + bytes > most) throw noRoom()
      // It closes after its last byte, and when the caller hangs up.
      if (own === 0)
        response.once('close', () => {
          held -= own
        })
      held += bytes - own
      own = bytes
    }
  }
  return {
    holdAnswer(response, bytes) {
      if (bytes <= smallBytesMax) return
      const share = answers.get(response) ?? openShare(response)
      answers.set(response, share)
      share(bytes)
    },
    holdBody(request, response, most) {
      if (most <= bodyLimit) return
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      if (length !== undefined) {
        // One that says that it is too large is refused, and not read.
        if (Number(length) <= most) openShare(response)(Number(length))
      } else if (encoding !== undefined) {
        holdArriving(request, response, openShare(response), most)
      }
    },
    held: () => held,
  }
}

/** Counts along with whoever reads the body, and breaks off their reading where there is no room for more. */
function holdArriving(request: IncomingMessage, response: ServerResponse, share: Share, most: number): void {
  let arrived = 0
  const count = ({ length }: Buffer) => {
    arrived += length
    try {
      // What is too large is refused by its reader.
      if (arrived <= most) share(arrived)
      else request.off('data', count)
    } catch {
      request.off('data', count)
      // Its reader has gone where the caller has hung up.
      if (request.listenerCount('error') > 0) request.emit('error', noRoom(stayingOpen(response)))
    }
  }
  // Nothing flows before its reader asks for it.
  request.pause()
  request.on('data', count)
}

/**
 * A reader that was broken off closes the connection, and the reset overtakes the answer while the caller still sends.
 * The rest of the body is taken off it and thrown away.
 */
const stayingOpen = (response: ServerResponse): Record<string, string> =>
  response.shouldKeepAlive && !response.hasHeader('connection') ? { connection: 'keep-alive' } : {}

const noRoom = (headers: Record<string, string> = {}) =>
  new Refusal('unavailable', '', { headers: { 'retry-after': '1', ...headers } })
