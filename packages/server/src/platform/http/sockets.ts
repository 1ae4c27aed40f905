import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'

/** What a connection may take of the process: how much, how long, how slowly. Times in ms, rates in bytes a second. */
export interface SocketLimits {
  /** Requests of one connection that wait for their answer. Clients that pipeline use a few; most use one. */
  readonly inFlightMax: number
  /** For a whole body of up to `bodyFloor` bytes, from the end of its head. */
  readonly bodyMs: number
  readonly bodyFloor: number
  /** What a larger body must bring after that time. */
  readonly bodyRate: number
  /** How often a reader must have taken `readFloor` bytes of what waits for it. */
  readonly readMs: number
  readonly readFloor: number
  /** How often both are looked at. */
  readonly lookMs: number
}

export const socketLimits: SocketLimits = {
  inFlightMax: 16,
  bodyMs: 10_000,
  bodyFloor: 1_048_576,
  bodyRate: 262_144,
  readMs: 30_000,
  readFloor: 16_384,
  lookMs: 1_000,
}

/** Requests that are let go by behind those in flight, until the connection is cut off: each costs some kilobytes. */
const droppedMax = 64
/** What one read from a socket may bring: with a head comes so much of its body. */
const readBytesMax = 65_536
/** How long a caller who was told 408 has to hear it. */
const hearMs = 5_000
/** How often the log tells of connections that were turned away. */
const tellMs = 10_000

/** A connection with a request that is not answered yet, or has not wholly arrived. */
interface Busy {
  inFlight: number
  dropped: number
  /** The last request: of those before it everything has arrived. */
  request: IncomingMessage
  response: ServerResponse
  since: number
  /** Bytes that the socket had brought when its head was read. */
  broughtBefore: number
  toldAt: number | null
  /** Bytes that the reader has taken, as the last look that counted found them, and when that was. */
  taken: number
  takenAt: number
}

/** Bounds what the connections of a server may take. @returns what the server is to call in place of `handle`. */
export function boundSockets(
  handle: RequestListener,
  limits: SocketLimits = socketLimits,
): { listener: RequestListener; watch(server: Server): void } {
  const busy = new Map<Socket, Busy>()

  const listener: RequestListener = (request, response) => {
    const { socket } = request
    const own = busy.get(socket)
    // What comes behind a request that was let go by is let go by as well, or it would be answered out of turn.
    if (own !== undefined && (own.dropped > 0 || own.inFlight >= limits.inFlightMax)) return drop(socket, own)
    const now = performance.now()
    const state = own ?? ({ inFlight: 0, dropped: 0, taken: 0, takenAt: now } as Busy)
    if (own === undefined) busy.set(socket, state)
    state.inFlight += 1
    state.request = request
    state.response = response
    state.since = now
    state.broughtBefore = socket.bytesRead
    state.toldAt = null
    response.once('close', () => {
      state.inFlight -= 1
      if (state.inFlight === 0 && (socket.destroyed || state.request.complete)) busy.delete(socket)
    })
    handle(request, response)
  }

  const look = () => {
    const now = performance.now()
    for (const [socket, state] of busy) {
      if (socket.destroyed) busy.delete(socket)
      else if (isStuck(socket, state, now, limits)) socket.destroy()
      else if (!state.request.complete) hurry(socket, state, now, limits)
      else if (state.inFlight === 0) busy.delete(socket)
    }
  }
  return {
    listener,
    watch(server) {
      const timer = setInterval(look, limits.lookMs).unref()
      server.once('close', () => clearInterval(timer))
    },
  }
}

/**
 * Lets a request go by unread: its sender has more in flight than it may. Those before it are answered, then the
 * connection is closed, and RFC 9112 §9.3.2 has the sender ask again for what was not answered.
 */
function drop(socket: Socket, state: Busy): void {
  state.dropped += 1
  if (state.dropped > droppedMax) return void socket.destroy()
  if (state.dropped > 1) return
  // Nothing more is read: Node would keep each request that it parses for as long as the socket is open.
  socket.pause()
  const { response } = state
  if (response.headersSent) response.once('finish', () => socket.destroySoon())
  else response.shouldKeepAlive = false
}

/** Whether something waits for a reader who takes next to nothing. */
function isStuck(socket: Socket, state: Busy, now: number, { readMs, readFloor }: SocketLimits): boolean {
  const taken = takenOf(socket)
  if (taken === null || taken - state.taken >= readFloor) {
    state.taken = taken ?? 0
    state.takenAt = now
    return false
  }
  return now - state.takenAt >= readMs
}

/**
 * Bytes that the kernel has taken for the reader; null where none waits. `bytesWritten` counts what is handed to the
 * event loop, though an answer of megabytes is handed over at once; only the handle knows how much of it has gone.
 */
function takenOf(socket: Socket): number | null {
  if (socket.writableLength === 0) return null
  const handle = (socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null })._handle
  return handle === undefined || handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize
}

/** Refuses a body that comes too slowly, by its reader where it has one. */
function hurry(socket: Socket, state: Busy, now: number, limits: SocketLimits): void {
  const { request, response, since, broughtBefore, toldAt } = state
  if (toldAt !== null) {
    if (now - toldAt >= hearMs) socket.destroy()
    return
  }
  const overMs = now - since - limits.bodyMs
  if (overMs < 0) return
  const arrived = socket.bytesRead - broughtBefore + readBytesMax
  if (limits.bodyFloor + (overMs / 1_000) * limits.bodyRate <= arrived) return
  state.toldAt = now
  // Of a body that nobody reads, as when its request is refused already, nobody needs to be told.
  if (response.writableEnded || request.listenerCount('error') === 0) socket.destroy()
  else request.emit('error', new Refusal('request_timeout'))
}

/** A bound on connections, and a line in the log when it turns some away. */
export function boundConnections(server: Server, connectionsMax: number, log: Pick<Logger, 'warn'>): void {
  server.maxConnections = connectionsMax
  let turnedAway = 0
  let toldAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    turnedAway += 1
    const now = performance.now()
    if (now - toldAt < tellMs) return
    toldAt = now
    log.warn(
      { connections: connectionsMax, turned_away: turnedAway },
      'connections were turned away: as many as SERVICE_MAX_CONNECTIONS allows are open',
    )
    turnedAway = 0
  })
}
