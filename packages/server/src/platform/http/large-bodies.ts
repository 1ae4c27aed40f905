import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../refusal.ts'

/** Of bodies and answers at once, over all requests of the process. A few times as much memory is used. */
export const largeBytesMax = 64 * 1_048_576
/** Of those that come with a signature in place of a credential. */
export const signedBytesMax = 16 * 1_048_576
/** Beside it for what is no larger than 1 MiB, so that a few large ones do not turn it away. */
export const mediumBytesMax = 16 * 1_048_576
const mediumMax = 1_048_576
/** What is smaller takes nothing: as many of them as wait for a lane, 20,000, are not much more than the others. */
export const smallBytesMax = 4_096

/** What is large takes its share of the memory before it is there, and gives it back when its request is over. */
export interface LargeBodies {
  /** Says whose the body and the answer of a request are: one owner has at most half of what there is, or one thing. */
  ownedBy(response: ServerResponse, owner: string): void
  /**
   * Takes the bytes of an answer, unless it is a small one. For another answer to the same request it takes what that
   * one is larger.
   * @throws {Refusal} `unavailable` when others have taken what there is.
   */
  holdAnswer(response: ServerResponse, bytes: number): void
  /**
   * Takes the bytes of an answer that is about to be sent, unless it is a small one. Bytes that many are sent at once are
   * there once, and are taken once.
   * @param mayRefuse false where what was asked for is done already, and only its answer would be lost.
   * @throws {Refusal} `unavailable` when others have taken what there is.
   */
  holdSent(response: ServerResponse, payload: string | Buffer, mayRefuse: boolean): void
  /**
   * Takes the bytes of a request's body as they arrive, whatever length it says that it has: who sends nothing keeps
   * nobody out. One that is small takes nothing.
   * @throws {Refusal} `unavailable` at once for one that would have no room now.
   */
  holdBody(request: IncomingMessage, response: ServerResponse, bytesMax: number): void
  /** Bytes that are taken now. */
  held(): number
}

/** Takes as many bytes as it is told, in all. Where it may not refuse it takes them beyond what there is. */
type Share = (bytes: number, mayRefuse?: boolean) => void

export function createLargeBodies(bytesMax: number = largeBytesMax): LargeBodies {
  let held = 0
  const owners = new WeakMap<ServerResponse, string>()
  const heldBy = new Map<string, number>()
  const ownOf = (owner: string | undefined) => (owner === undefined ? 0 : (heldBy.get(owner) ?? 0))
  const take = (owner: string | undefined, bytes: number) => {
    held += bytes
    if (owner === undefined) return
    const own = ownOf(owner) + bytes
    if (own === 0) heldBy.delete(owner)
    else heldBy.set(owner, own)
  }
  const answers = new WeakMap<ServerResponse, Share>()
  /** Bytes that are being sent, and to how many. */
  const sent = new Map<Buffer, number>()
  const roomFor = (bytes: number) => (bytes > mediumMax ? bytesMax : bytesMax + mediumBytesMax)
  /** @param had what it takes already, and would give back. */
  const hasRoom = (owner: string | undefined, bytes: number, had = 0) => {
    const others = ownOf(owner) - had
    return held - had + bytes <= roomFor(bytes) && (others <= 0 || others + bytes <= bytesMax / 2)
  }
  const openShare = (response: ServerResponse): Share => {
    let own = 0
    const owner = owners.get(response)
    return (bytes, mayRefuse = true) => {
      if (bytes <= Math.max(own, smallBytesMax)) return
      // Who has hung up already closes no more, and would keep what it takes.
      if (isGone(response)) throw new Refusal('unavailable')
      if (mayRefuse && !hasRoom(owner, bytes, own)) throw noRoom()
      // It closes after its last byte, and when the caller hangs up.
      if (own === 0) response.once('close', () => take(owner, -own))
      take(owner, bytes - own)
      own = bytes
    }
  }
  const shareOf = (response: ServerResponse): Share => {
    const share = answers.get(response) ?? openShare(response)
    answers.set(response, share)
    return share
  }
  const holdBuffer = (response: ServerResponse, bytes: Buffer, mayRefuse: boolean) => {
    // They are all of one workspace, so whoever is first is as good an owner as any.
    const owner = owners.get(response)
    const holders = sent.get(bytes) ?? 0
    if (holders === 0) {
      if (mayRefuse && !hasRoom(owner, bytes.length)) throw noRoom()
      take(owner, bytes.length)
    }
    sent.set(bytes, holders + 1)
    response.once('close', () => {
      const left = (sent.get(bytes) ?? 1) - 1
      if (left > 0) return void sent.set(bytes, left)
      sent.delete(bytes)
      take(owner, -bytes.length)
    })
  }
  return {
    ownedBy: (response, owner) => void owners.set(response, owner),
    holdAnswer(response, bytes) {
      if (bytes > smallBytesMax) shareOf(response)(bytes)
    },
    holdSent(response, payload, mayRefuse) {
      if (payload.length <= smallBytesMax || isGone(response)) return
      if (Buffer.isBuffer(payload)) holdBuffer(response, payload, mayRefuse)
      else shareOf(response)(payload.length, mayRefuse)
    },
    holdBody(request, response, most) {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
      if (length === undefined && encoding === undefined) return
      const told = Number(length ?? 0)
      // One that says that it is too large is refused, and not read.
      if (told > most || (length !== undefined && told <= smallBytesMax)) return
      // What is told takes nothing, for it may never come; but what cannot have room need not begin.
      if (!hasRoom(owners.get(response), told)) throw noRoom()
      holdArriving(request, response, openShare(response), most)
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

const isGone = ({ destroyed, closed }: ServerResponse) => destroyed || closed

const noRoom = (headers: Record<string, string> = {}) =>
  new Refusal('unavailable', '', { headers: { 'retry-after': '1', ...headers } })
