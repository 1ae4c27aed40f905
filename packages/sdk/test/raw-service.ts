import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after } from 'node:test'

/** One request as a raw service sees it. */
export interface RawRequest {
  socket: Socket
  /** Which connection it came on, and which request of that connection it is, from 1. */
  connection: number
  turn: number
  text: string
}

/** Answers requests byte by byte, and counts. Takes each piece of data that comes for one request. */
export class RawService {
  url = ''
  readonly requests: RawRequest[] = []
  connections = 0
  readonly #sockets = new Set<Socket>()
  readonly #server
  constructor(answer: (request: RawRequest) => void) {
    this.#server = createServer({ allowHalfOpen: true }, socket => {
      const connection = ++this.connections
      let turn = 0
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('end', () => socket.end())
      socket.on('data', data => {
        const request = { socket, connection, turn: ++turn, text: String(data) }
        this.requests.push(request)
        answer(request)
      })
    })
  }

  /** Open connections. */
  get open(): number {
    return this.#sockets.size
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    after(() => {
      for (const socket of this.#sockets) socket.destroy()
      this.#server.close()
    })
    return this
  }
}

export const startRawService = (answer: (request: RawRequest) => void): Promise<RawService> =>
  new RawService(answer).listen()

/** An answer with this body. */
export const answered = (body: string | Buffer, head = ''): Buffer => {
  const bytes = Buffer.from(body as string)
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\n${head}Content-Length: ${bytes.length}\r\n\r\n`),
    bytes,
  ])
}
