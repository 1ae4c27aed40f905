import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const muted = new WeakSet<Socket>()

/** Node's parser of a connection, with the functions that it calls. */
type Parser = Record<string, unknown>

const isOnBody = (value: unknown) => typeof value === 'function' && value.name === 'parserOnBody'

/**
 * Node's parser still parses the rest of the body of a request after which the connection closes, but hands nothing over. Else
 * each chunk would cost a buffer and a call, 5 us, for a body that no code reads; one read of a socket brings 10,000 chunks.
 */
export function muteBody({ socket }: IncomingMessage): void {
  const { parser } = (socket ?? {}) as { parser?: Parser | null }
  if (parser === undefined || parser === null || muted.has(socket)) return
  const name = Object.keys(parser).find(key => isOnBody(parser[key]))
  // Another release of Node may name the function otherwise. Then the chunks only cost their time.
  if (name === undefined) return
  const onBody = parser[name]
  muted.add(socket)
  parser[name] = null
  // The parser gets the function back before Node keeps the parser for another connection.
  socket.prependOnceListener('close', () => {
    parser[name] = onBody
  })
}

/** Whether requests that follow on this connection have no body, and must not be served. */
export const isMuted = (socket: Socket): boolean => muted.has(socket)
