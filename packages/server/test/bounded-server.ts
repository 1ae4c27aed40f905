import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { boundSockets, type SocketLimits, socketLimits } from '../src/platform/http/sockets.ts'

/** Starts a server that only has the bounds, so that they can be short. With a certificate it speaks TLS. */
export async function serveBounded(
  handle: RequestListener,
  limits: Partial<SocketLimits> = {},
  certificate: { cert: string; key: string } | null = null,
) {
  const sockets = boundSockets(handle, { ...socketLimits, ...limits })
  const server =
    certificate === null
      ? createServer(sockets.listener)
      : createTlsServer({ cert: certificate.cert, key: certificate.key }, sockets.listener)
  server.listen(0, '127.0.0.1')
  sockets.watch(server)
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  /** The server's side of each connection, newest last. */
  const ends: Socket[] = []
  server.on(certificate === null ? 'connection' : 'secureConnection', (end: Socket) => ends.push(end))
  const open = async (): Promise<Socket> => {
    const socket =
      certificate === null
        ? connect(port, '127.0.0.1')
        : connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: certificate.cert })
    socket.on('error', () => {})
    await once(socket, certificate === null ? 'connect' : 'secureConnect')
    return socket
  }
  return { server, sockets, open, ends }
}
