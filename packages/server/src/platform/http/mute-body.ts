import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const muted = new WeakSet<Socket>()

/** Node's parser of a connection, with the functions that it calls. */
type Parser = Record<string, unknown>

const isOnBody = (value: unknown) => typeof value === 'function' && value.name === 'parserOnBody'

/**
 * For a request after which the connection closes: what is left of its body is parsed, and makes nothing. Otherwise each piece
 * becomes a buffer and a call, in 5 us, although it is never read: one read of a socket brings 10,000 chunks of one byte.
 */
export function muteBody({ socket }: IncomingMessage): void {
  const { parser } = (socket ?? {}) as { parser?: Parser | null }
  if (parser === undefined || parser === null || muted.has(socket)) return
  const name = Object.keys(parser).find(key => isOnBody(parser[key]))
  // Another release of Node may have another way. Then the pieces only cost their time.
  if (name === undefined) return
  const onBody = parser[name]
  muted.add(socket)
  parser[name] = null
  // Before Node keeps the parser for another connection.
  socket.prependOnceListener('close', () => {
    parser[name] = onBody
  })
}

/** Whether requests that follow on this connection have no body, and must not be served. */
export const isMuted = (socket: Socket): boolean => muted.has(socket)
