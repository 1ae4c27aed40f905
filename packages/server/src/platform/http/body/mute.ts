import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const muted = new WeakSet<Socket>()

/** Node's parser of a connection, with the functions that it calls. */
type Parser = Record<string, unknown>

const isOnBody = (value: unknown) => typeof value === 'function' && value.name === 'parserOnBody'

/**
 * After a request whose connection closes, Node's parser still parses the rest of the body, but passes nothing on. Otherwise
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

/** Whether later requests on this connection have lost their body, and must not be served. */
export const isMuted = (socket: Socket): boolean => muted.has(socket)
