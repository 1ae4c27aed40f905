import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../../refusal.ts'
import { muteBody } from './mute.ts'

/**
 * Limits on the number of pieces of a body. Each piece costs Node a buffer of some 350 bytes and 5 microseconds, so that 5 MiB
 * in chunks of one byte took 1.8 GB and half a minute. A piece is a chunk, or the part of a chunk that one read of the socket
 * brings.
 */
export const pieceLimits = {
  /** The bytes that a piece must carry on average, beyond the slack. A TCP segment carries more. */
  bytesOfOne: 256,
  /** How many pieces may be smaller: a client that sends chunks may write a small body value by value. */
  slackOfChunks: 1_024,
  /** The same for a body with a length, whose sender pays a packet for each piece. A few KB may come byte by byte. */
  slackOfPackets: 4_096,
}

const tooFine = new WeakSet<IncomingMessage>()

/**
 * Counts the pieces of a body as Node's parser finds them: the pieces of one read arrive at once, before any code could read
 * them. Once there are too many, the rest is dropped, and the reader of the body gets a refusal.
 */
export function boundPieces(request: IncomingMessage, response: Pick<ServerResponse, 'headersSent'>): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  const slack = encoding === undefined ? pieceLimits.slackOfPackets : pieceLimits.slackOfChunks
  // A body of so few bytes cannot have more pieces.
  if (encoding === undefined && Number(length) <= slack) return
  let bytes = 0
  let pieces = 0
  const push = request.push.bind(request)
  request.push = (piece: Buffer | null) => {
    if (piece === null) return push(null)
    if (tooFine.has(request)) return true
    bytes += piece.length
    pieces += 1
    if (pieces <= slack + bytes / pieceLimits.bytesOfOne) return push(piece)
    tooFine.add(request)
    muteBody(request)
    if (request.listenerCount('error') > 0) request.emit('error', refusalOfPieces())
    // Without a reader, the gate has not let the body in yet, or the rest is discarded on a connection that was to stay open.
    else if (response.headersSent) request.socket.destroySoon()
    return true
  }
}

/** @throws {Refusal} `malformed_request` if the body came in too many pieces before its reader. */
export function assertNotTooFine(request: IncomingMessage): void {
  if (tooFine.has(request)) throw refusalOfPieces()
}

const refusalOfPieces = () =>
  new Refusal(
    'malformed_request',
    `The body came in too many small pieces. Send at least ${pieceLimits.bytesOfOne} bytes in a chunk.`,
  )
