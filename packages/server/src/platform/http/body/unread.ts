import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { networkOf } from '../../network/client-network.ts'
import { clientOf } from '../client.ts'
import { discard } from './discard.ts'
import { isMuted, muteBody } from './mute.ts'

/** Limits for a client that still sends its body when the answer is ready. Sizes in bytes, times in ms. */
export interface UnreadLimits {
  /**
   * Up to this size, the body of a sender without a valid credential is discarded and the connection stays open. One read of a
   * socket returns as many bytes.
   */
  readonly keptMax: number
  /** The most that a closing connection discards. A client that sends more without reading the answer gets a reset. */
  readonly discardedMax: number
  /** How long a closing connection waits for the client to close, and how long it takes a place. */
  readonly lingerMs: number
  /** Closing connections that may wait, in total and per network. Further ones are closed at once. */
  readonly places: number
  readonly placesOfOne: number
}

export const unreadLimits: UnreadLimits = {
  keptMax: 65_536,
  discardedMax: 1_048_576,
  lingerMs: 2_000,
  places: 128,
  placesOfOne: 16,
}

export interface UnreadBodies {
  /** Asks a client that sent `Expect: 100-continue` for its body. */
  ask(response: ServerResponse): void
}

/**
 * For answers that are sent before the body has arrived, such as refusals of a request's head. The rest of a large body is not
 * read as a request: the connection closes, and discards a little more, because a reset would overtake the answer while the
 * client still sends (RFC 9112 §9.6).
 */
export function leaveBodiesUnread(app: FastifyInstance, limits: UnreadLimits = unreadLimits): UnreadBodies {
  const mayLinger = lingeringPlaces(limits)
  /** Responses whose clients wait with the body until they are asked for it. */
  const unasked = new WeakSet<ServerResponse>()
  // Without a listener Node asks for the body before anything has judged the head.
  app.server.on('checkContinue', (request, response) => {
    unasked.add(response)
    app.server.emit('request', request, response)
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { complete, headers, socket } = request.raw
    // Tests inject requests that have no connection.
    if (!(socket instanceof Socket)) return done()
    // The body of the next request would be lost.
    if (isMuted(socket)) reply.header('connection', 'close')
    if (complete) return done()
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
    const announced = encoding === undefined ? Number(length) : Number.POSITIVE_INFINITY
    if (announced === 0) return done()
    const connectionHeader = reply.getHeader('connection')
    const { principal, routeOptions } = request
    const acceptedMax = routeOptions.bodyLimit ?? limits.keptMax
    const mayDiscard = () => mayLinger(networkOf(clientOf(request).ip))
    if (connectionHeader === 'keep-alive') {
      discardRest(request.raw, acceptedMax, () =>
        mayDiscard() ? linger(socket, limits) : socket.destroySoon(),
      )
      return done()
    }
    request.raw.on('data', discard)
    // A sender with a valid credential may send the whole body that the route accepts, so that it gets the answer and can send
    // again.
    const keptMax = principal === null ? limits.keptMax : acceptedMax
    // A client that was not asked for the body may send it or not, so the next request could be taken for the body.
    const mayStay = connectionHeader !== 'close' && reply.raw.shouldKeepAlive && !unasked.has(reply.raw)
    if (mayStay && announced <= keptMax) return done()
    reply.header('connection', 'close')
    muteBody(request.raw)
    // Node calls this after the last byte of the answer, and would close while the client sends.
    if (mayDiscard()) socket.destroySoon = () => linger(socket, limits)
    done()
  })
  return {
    ask(response) {
      if (unasked.delete(response)) response.writeContinue()
    },
  }
}

/** Discards a body whose connection stays open, up to so many bytes. A body without a length may have no end. */
function discardRest(request: IncomingMessage, bytesMax: number, close: () => void): void {
  let left = bytesMax
  const take = (bytes: Buffer) => {
    left -= bytes.length
    discard(bytes)
    if (left >= 0) return
    request.off('data', take)
    muteBody(request)
    close()
  }
  request.on('data', take)
}

/** Closes our half, and discards what the client has sent until it closes its own. */
function linger(socket: Socket, { discardedMax, lingerMs }: UnreadLimits): void {
  // These listeners are the parser's, and the client's bytes are no requests any more.
  socket.removeAllListeners('data')
  const before = socket.bytesRead
  socket.on('data', bytes => {
    discard(bytes)
    if (socket.bytesRead - before > discardedMax) socket.destroy()
  })
  socket.end()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

/** A place is free again after `lingerMs`, even if the client closes earlier: so the places also limit the rate. */
function lingeringPlaces({ places, placesOfOne, lingerMs }: UnreadLimits): (network: string) => boolean {
  const taken = new Map<string, number>()
  let total = 0
  const free = (network: string) => {
    const left = (taken.get(network) ?? 0) - 1
    if (left > 0) taken.set(network, left)
    else taken.delete(network)
    total -= 1
  }
  return network => {
    const own = taken.get(network) ?? 0
    if (total >= places || own >= placesOfOne) return false
    total += 1
    taken.set(network, own + 1)
    setTimeout(free, lingerMs, network).unref()
    return true
  }
}
