import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { openFilesMax } from '../host/open-files.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { Refusal } from '../refusal.ts'
import { isMuted } from './body/mute.ts'
import { boundPieces } from './body/pieces.ts'
import { createQuietSockets } from './quiet-sockets.ts'

/** What a connection may use of the process: how much, how long, how slowly. Times in ms, rates in bytes per second. */
export interface SocketLimits {
  /** Requests of one connection that wait for their response. Clients that pipeline use a few; most use one. */
  readonly inFlightMax: number
  /** For a whole body of up to `bodyFloor` bytes, from the end of its head. */
  readonly bodyMs: number
  readonly bodyFloor: number
  /** The rate at which a larger body must arrive after that time. */
  readonly bodyRate: number
  /** The interval in which a reader must take `readFloor` bytes of the waiting output. */
  readonly readMs: number
  readonly readFloor: number
  /** How long a new connection may take to send its first request, once the server closes. */
  readonly firstMs: number
  /** How long a server that closes keeps a connection after its last response. */
  readonly keptMs: number
  /** How often all connections are checked. */
  readonly lookMs: number
}

export const socketLimits: SocketLimits = {
  inFlightMax: 16,
  bodyMs: 10_000,
  bodyFloor: 1_048_576,
  bodyRate: 262_144,
  readMs: 30_000,
  readFloor: 16_384,
  firstMs: 1_000,
  keptMs: 0,
  lookMs: 1_000,
}

/** The most for `keptMs`: longer than nginx and HAProxy keep a connection. A service without a drain delay has no proxy. */
export const keptMsMax = 5_000

/**
 * Requests that may wait behind those in flight, over all connections: each costs some kilobytes until its connection closes.
 * One read from a socket brings up to 2,000 requests.
 */
const droppedMax = 16_384
/** The most that one read from a socket returns: this much of a body can arrive with its head. */
const readBytesMax = 65_536
/** How long a client has to read its 408. */
const answerReadMs = 5_000
/** How often refused connections are logged. */
const logEveryMs = 10_000

const closing = { connection: 'close' }

/** A connection with a request that has not been answered, or has not completely arrived. */
interface Busy {
  inFlight: number
  dropped: number
  /** The last request. All earlier requests have arrived completely. */
  request: IncomingMessage
  response: ServerResponse
  since: number
  /** Bytes that the socket had received when the head was read. */
  broughtBefore: number
  refusedAt: number | null
  /** Bytes that the reader had taken at the last check that found progress, and the time of that check. */
  taken: number
  takenAt: number
}

/**
 * Limits what the connections of a server may use.
 * @returns the listener to use instead of `handle`. Once the server closes, every response ends its connection.
 */
export const boundSockets = (
  handle: RequestListener,
  limits: SocketLimits = socketLimits,
  refuse: (response: ServerResponse) => void = response => response.writeHead(429, closing).end(),
): { listener: RequestListener; watch(server: Server): void } => new BoundSockets(handle, limits, refuse)

class BoundSockets {
  readonly #handle: RequestListener
  readonly #limits: SocketLimits
  readonly #refuse: (response: ServerResponse) => void
  #inFlightMax: number
  readonly #busy = new Map<Socket, Busy>()
  readonly #quiet: ReturnType<typeof createQuietSockets>
  #isClosing = false
  #droppedOfAll = 0

  constructor(handle: RequestListener, limits: SocketLimits, refuse: (response: ServerResponse) => void) {
    this.#handle = handle
    this.#limits = limits
    this.#refuse = refuse
    this.#inFlightMax = limits.inFlightMax
    this.#quiet = createQuietSockets(limits)
  }

  readonly listener: RequestListener = (request, response) => {
    const { socket } = request
    // The request came behind one that closes the connection. Under RFC 9112 §9.6 it is not processed.
    if (isMuted(socket)) return
    this.#quiet.forget(socket)
    const own = this.#busy.get(socket)
    // Requests behind a dropped one are dropped too, or they would be answered out of order.
    if (own !== undefined && (own.dropped > 0 || own.inFlight >= this.#inFlightMax))
      return this.#drop(socket, own, response)
    const now = performance.now()
    const state = own ?? ({ inFlight: 0, dropped: 0, taken: 0, takenAt: now } as Busy)
    if (own === undefined) this.#busy.set(socket, state)
    state.inFlight += 1
    state.request = request
    state.response = response
    state.since = now
    state.broughtBefore = socket.bytesRead
    state.refusedAt = null
    response.once('close', () => {
      state.inFlight -= 1
      if (state.inFlight === 0 && (socket.destroyed || state.request.complete)) this.#rest(socket)
    })
    // The header tells the client that the connection is over, before it sends another request.
    if (this.#isClosing) response.shouldKeepAlive = false
    boundPieces(request, response)
    this.#handle(request, response)
  }

  watch(server: Server): void {
    // A TLS server's requests come from the socket behind the handshake, which has a time limit of its own.
    server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', this.#quiet.open)
    const timer = setInterval(() => this.#look(), this.#limits.lookMs).unref()
    // `close` calls this first. Node would end kept connections, also those whose next request is under way.
    server.closeIdleConnections = () => {
      if (this.#isClosing) return
      this.#isClosing = true
      this.#inFlightMax = 1
      for (const { inFlight, response } of this.#busy.values())
        if (inFlight > 0 && !response.headersSent) response.shouldKeepAlive = false
      server.once('close', this.#quiet.cutOff())
    }
    server.once('close', () => clearInterval(timer))
  }

  /**
   * Leaves a request unread, because its sender has too many in flight. Earlier requests are answered; then the first unread
   * request gets the reason, and the connection closes.
   */
  #drop(socket: Socket, state: Busy, left: ServerResponse): void {
    if (this.#droppedOfAll >= droppedMax) return void socket.destroy()
    state.dropped += 1
    this.#droppedOfAll += 1
    if (state.dropped > 1) return
    socket.once('close', () => {
      this.#droppedOfAll -= state.dropped
    })
    // Nothing more is read: Node would keep every request that it parses while the socket is open.
    socket.pause()
    if (!this.#isClosing) return void this.#refuse(left)
    // The response in flight is the last one; under RFC 9112 §9.3.2 the sender repeats later requests.
    const { response } = state
    if (response.headersSent) response.once('finish', () => socket.destroySoon())
    else response.shouldKeepAlive = false
  }

  #rest(socket: Socket): void {
    this.#busy.delete(socket)
    this.#quiet.keep(socket)
  }

  #look(): void {
    const now = performance.now()
    for (const [socket, state] of this.#busy) {
      if (socket.destroyed) this.#busy.delete(socket)
      else if (isStuck(socket, state, now, this.#limits)) socket.destroy()
      else if (!state.request.complete) hurry(socket, state, now, this.#limits)
      else if (state.inFlight === 0) this.#rest(socket)
    }
  }
}

/** Whether output waits for a reader that takes almost nothing. */
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
 * Bytes that the kernel has taken for the reader; null if no output waits. `bytesWritten` counts the bytes given to the event
 * loop, and a response of megabytes is given at once; only the handle knows how many bytes have been sent.
 */
function takenOf(socket: Socket): number | null {
  if (socket.writableLength === 0) return null
  const { _handle: own } = socket as { _handle?: Handle | null }
  // Behind TLS, only the underlying connection knows.
  const handle = own?._parent ?? own
  return handle === undefined || handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize
}

interface Handle {
  bytesWritten: number
  writeQueueSize: number
  _parent?: Handle
}

/** Refuses a body that arrives too slowly, through its reader if it has one. */
function hurry(socket: Socket, state: Busy, now: number, limits: SocketLimits): void {
  const { request, response, since, broughtBefore, refusedAt } = state
  if (refusedAt !== null) {
    if (now - refusedAt >= answerReadMs) socket.destroy()
    return
  }
  const overMs = now - since - limits.bodyMs
  if (overMs < 0) return
  const arrived = socket.bytesRead - broughtBefore + readBytesMax
  if (limits.bodyFloor + (overMs / 1_000) * limits.bodyRate <= arrived) return
  state.refusedAt = now
  // A body without a reader, for example of a refused request, needs no response.
  if (response.writableEnded || request.listenerCount('error') === 0) socket.destroy()
  else request.emit('error', new Refusal('request_timeout'))
}

/** Files that the process needs besides clients and the pool: lanes, threads, pipes, mail, and a reserve. */
const filesKept = 100
/** The least value of SERVICE_MAX_CONNECTIONS. */
const connectionsMin = 10

/**
 * Limits the number of connections, and logs when it refuses some. It stays below the limit of open files: at that limit the
 * event loop would drop clients silently, and no connection to the database could be opened.
 */
export function boundConnections(
  server: Server,
  { maxConnections, databasePool }: { maxConnections: number; databasePool: number },
  log: Pick<Logger, 'warn'>,
  observer: Pick<Metrics, 'connectionRefused'>,
  filesMax = openFilesMax() ?? Number.POSITIVE_INFINITY,
): void {
  const quota = Math.max(connectionsMin, filesMax - databasePool - filesKept)
  const connections = Math.min(maxConnections, quota)
  const cause =
    connections < maxConnections ? `the limit of ${filesMax} open files` : 'SERVICE_MAX_CONNECTIONS'
  if (connections < maxConnections)
    log.warn({ connections, open_files: filesMax }, `${cause} bounds connections`)
  server.maxConnections = connections
  // Of several processes each closes what is beyond its part: they would pass it around while all are full.
  Object.assign(server, { dropMaxConnection: true })
  let turnedAway = 0
  let refusedAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    turnedAway += 1
    observer.connectionRefused()
    const now = performance.now()
    if (now - refusedAt < logEveryMs) return
    refusedAt = now
    log.warn(
      { connections, turned_away: turnedAway },
      `connections were refused: as many as ${cause} allows are open`,
    )
    turnedAway = 0
  })
}
