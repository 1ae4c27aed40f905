import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import type { Connection } from '../src/platform/db/connection.ts'

/** A port on loopback that leads to a Postgres, whose connections can hang as behind a firewall that forgot them. */
export interface TcpProxy {
  readonly connection: Connection
  /** Forwards nothing more on the present connections, and closes none. New ones are served. */
  hang(): void
  /** From now on it keeps what clients send from the bytes on that hold this text, until `flow`. */
  holdAt(text: string): void
  /** On how many connections it keeps something. */
  held(): number
  /** Forwards what it keeps, also where the client has closed its connection meanwhile. */
  flow(): void
  /** How many connections ended since its start. */
  ended(): number
  /** Ends the present connections. */
  cut(): void
  close(): Promise<void>
}

export async function startTcpProxy(target: Connection): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const kept: Kept[] = []
  let heldText: string | null = null
  let ended = 0
  const server = createServer(near => {
    const far = dial(`${target.host}/.s.PGSQL.${target.port}`)
    const own: Kept = { far, chunks: [], isClosed: false }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    near.on('data', bytes => {
      if (own.chunks.length === 0 && !(heldText !== null && bytes.includes(heldText))) far.write(bytes)
      else if (own.chunks.push(bytes) === 1) kept.push(own)
    })
    far.on('data', bytes => near.write(bytes))
    far.on('close', () => near.destroy())
    near.on('close', () => {
      ended += 1
      own.isClosed = true
      if (own.chunks.length === 0) far.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    connection: { ...target, host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    hang() {
      for (const socket of sockets) socket.pause()
    },
    holdAt(text) {
      heldText = text
    },
    held: () => kept.length,
    flow() {
      heldText = null
      for (const { far, chunks, isClosed } of kept.splice(0)) {
        for (const bytes of chunks.splice(0)) far.write(bytes)
        if (isClosed) far.end()
      }
    },
    ended: () => ended,
    cut,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What a client sent on one connection, and Postgres has not got. */
interface Kept {
  readonly far: Socket
  readonly chunks: Buffer[]
  isClosed: boolean
}
