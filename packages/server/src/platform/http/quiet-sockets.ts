import type { Socket } from 'node:net'

/** A connection without a request: opened ahead of need, as browsers do, or kept after a response. */
interface Quiet {
  since: number
  isKept: boolean
  /** Bytes that the connection had received by then. */
  bytes: number
}

interface QuietSockets {
  /** A connection was opened. */
  open(socket: Socket): void
  /** The last request of a connection was answered. */
  keep(socket: Socket): void
  /** A connection has a request. */
  forget(socket: Socket): void
  /** From now on ends connections that stay quiet for their time. @returns a function that stops this. */
  cutOff(): () => void
}

const lookMs = 50

/**
 * The quiet connections of a server. They end soon once the server closes: Node would end kept connections at once, and would
 * wait for those that have had no request.
 */
export function createQuietSockets(limits: {
  readonly firstMs: number
  /** Read when the server closes. */
  readonly keptMs: number
}): QuietSockets {
  const quiet = new Map<Socket, Quiet>()
  const note = (socket: Socket, isKept: boolean) =>
    quiet.set(socket, { since: performance.now(), isKept, bytes: socket.bytesRead })

  const look = () => {
    const now = performance.now()
    for (const [socket, { since, isKept, bytes }] of quiet) {
      if (now - since < (isKept ? limits.keptMs : limits.firstMs)) continue
      // A kept connection that has sent the beginning of a request gets as long for the rest as a first request gets.
      if (isKept && socket.bytesRead > bytes) note(socket, false)
      else socket.destroy()
    }
  }
  return {
    open(socket) {
      note(socket, false)
      socket.once('close', () => quiet.delete(socket))
    },
    keep(socket) {
      if (!socket.destroyed) note(socket, true)
    },
    forget: socket => quiet.delete(socket),
    cutOff() {
      // Looks after a whole turn of the event loop: if the process was stopped, requests have arrived meanwhile, and a proxy
      // does not repeat a POST that is reset.
      const lookLater = () => void setImmediate(() => setImmediate(look))
      const timer = setInterval(lookLater, lookMs)
      lookLater()
      return () => clearInterval(timer)
    },
  }
}
