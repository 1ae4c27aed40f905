import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** The head of an answer, once its last byte has arrived. */
export type Received = { status: number; etag: string | undefined; bytes: number }

/** Called with each piece of a body, its offset, and the answer's status. The bytes are valid during the call only. */
export type Take = (piece: Buffer, offset: number, status: number) => void

type Asked = {
  take: Take
  resolve(received: Received): void
  reject(error: Error): void
}

/**
 * The read buffer of all connections of a process. A fleet that reads a new snapshot takes gigabytes; with a buffer for
 * each piece, the generator would be the slower side.
 */
const scratch = Buffer.allocUnsafeSlow(256 * 1024)

/**
 * The keep-alive connection of one node, with one request at a time. It reads answers with a length or without a body,
 * and collects no body.
 */
export class FleetConnection {
  readonly #socket: Socket
  readonly #host: string
  #asked: Asked | undefined
  #head = ''
  /** Undefined until the head is complete. */
  #received: Received | undefined
  #length = 0

  private constructor(url: URL) {
    this.#host = url.host
    this.#socket = connect({
      port: Number(url.port),
      host: url.hostname,
      noDelay: true,
      onread: {
        buffer: scratch,
        callback: read => {
          this.#receive(scratch.subarray(0, read))
          return true
        },
      },
    })
    this.#socket.on('error', error => this.#break(error))
    this.#socket.on('close', () => this.#break(new Error('the server closed the connection')))
  }

  /** @throws Error when no server listens there */
  static async open(url: URL): Promise<FleetConnection> {
    const connection = new FleetConnection(url)
    await once(connection.#socket, 'connect')
    return connection
  }

  /** GET with these headers, each line ended by CR LF. @throws Error when the connection breaks */
  ask(path: string, headerLines: string, take: Take): Promise<Received> {
    if (this.#asked) throw new Error('this connection has a request under way')
    const { promise, resolve, reject } = Promise.withResolvers<Received>()
    this.#asked = { take, resolve, reject }
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n${headerLines}\r\n`)
    if (this.#socket.destroyed) this.#break(new Error('the connection is closed'))
    return promise
  }

  /** A request under way stays unanswered. */
  close(): void {
    this.#asked = undefined
    this.#socket.destroy()
  }

  #receive(piece: Buffer): void {
    if (!this.#asked) {
      this.#socket.destroy(new Error('bytes arrived without a request'))
      return
    }
    if (this.#received) {
      this.#receiveBody(piece)
      return
    }
    // A head almost always arrives in one piece, so the joined text is short.
    const before = this.#head.length
    this.#head += piece.toString('latin1', 0, Math.min(piece.length, headBytesMax))
    const end = this.#head.indexOf('\r\n\r\n')
    if (end === -1) {
      if (this.#head.length >= headBytesMax) this.#socket.destroy(new Error('the head does not end'))
      return
    }
    const head = readHead(this.#head.slice(0, end))
    if (head instanceof Error) {
      this.#socket.destroy(head)
      return
    }
    this.#received = { status: head.status, etag: head.etag, bytes: 0 }
    this.#length = head.length
    this.#receiveBody(piece.subarray(end + 4 - before))
  }

  #receiveBody(piece: Buffer): void {
    const { take, resolve } = this.#asked ?? {}
    const received = this.#received
    if (!take || !resolve || !received) return
    if (received.bytes + piece.length > this.#length) {
      this.#socket.destroy(new Error('the body is longer than its content-length'))
      return
    }
    if (piece.length > 0) take(piece, received.bytes, received.status)
    received.bytes += piece.length
    if (received.bytes < this.#length) return
    this.#asked = undefined
    this.#received = undefined
    this.#head = ''
    resolve(received)
  }

  #break(error: Error): void {
    const reject = this.#asked?.reject
    this.#asked = undefined
    reject?.(error)
  }
}

const headBytesMax = 16_384

/** Status, length and tag of an answer's head; an error when the length is missing. */
export function readHead(head: string): { status: number; length: number; etag: string | undefined } | Error {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  if (!status) return new Error('the answer is not HTTP/1.1')
  const etag = /\r\netag: *([^\r]*)/i.exec(head)?.[1]
  // A 304 may state the length of the body that it does not send. RFC 9110 §8.6.
  if (status === 204 || status === 304) return { status, length: 0, etag }
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  return length === undefined
    ? new Error('the answer has no content-length')
    : { status, length: Number(length), etag }
}
