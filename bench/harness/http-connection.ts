import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { HttpRequest } from './request.ts'

export type HttpAnswer = { status: number; body: () => string }

/**
 * One keep-alive connection with one request at a time, for the open loop. It reads only answers with a content length.
 * In exchange it costs a third of `node:http` or undici per request; a latency must not contain the generator's own
 * time (measured: 29 us against 89 and 139).
 */
export class HttpConnection {
  readonly #socket: Socket
  readonly #host: string
  #received: Buffer = Buffer.alloc(0)
  #onAnswer: ((answer: HttpAnswer) => void) | undefined
  #onBroken: ((error: Error) => void) | undefined

  private constructor(socket: Socket, host: string) {
    this.#socket = socket
    this.#host = host
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', error => this.#break(error))
    socket.on('close', () => this.#break(new Error('the server closed the connection')))
  }

  /** @throws Error when no server listens there */
  static async open({ hostname, port, host }: URL): Promise<HttpConnection> {
    const socket = connect(Number(port || 80), hostname)
    await once(socket, 'connect')
    return new HttpConnection(socket, host)
  }

  /** Calls exactly one of the two, later. */
  request(
    request: HttpRequest,
    onAnswer: (answer: HttpAnswer) => void,
    onBroken: (error: Error) => void,
  ): void {
    if (this.#onAnswer) throw new Error('this connection has a request under way')
    if (this.#socket.destroyed) {
      queueMicrotask(() => onBroken(new Error('the connection is closed')))
      return
    }
    this.#onAnswer = onAnswer
    this.#onBroken = onBroken
    this.#socket.write(encodeRequest(request, this.#host))
  }

  close(): void {
    this.#onAnswer = undefined
    this.#onBroken = undefined
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const answer = readAnswer(this.#received)
    if (answer instanceof Error) return void this.#socket.destroy(answer)
    const onAnswer = this.#onAnswer
    if (!answer || !onAnswer) return
    this.#received = Buffer.alloc(0)
    this.#onAnswer = undefined
    this.#onBroken = undefined
    onAnswer(answer)
  }

  #break(error: Error): void {
    const onBroken = this.#onBroken
    this.#onAnswer = undefined
    this.#onBroken = undefined
    onBroken?.(error)
  }
}

export function encodeRequest(
  { method = 'GET', path = '/', headers = {}, body }: HttpRequest,
  host: string,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}\r\n${body ?? ''}`)
}

/** The answer once it is complete, undefined before, an error when its form is not supported. */
export function readAnswer(received: Buffer): HttpAnswer | Error | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1])
  if (!status) return new Error('the answer is not HTTP/1.1')
  const bodyStart = headEnd + 4
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && status !== 204 && status !== 304) {
    return new Error('the answer has no content-length; use another client for streams')
  }
  const bodyEnd = bodyStart + Number(length ?? 0)
  if (received.length < bodyEnd) return undefined
  return { status, body: () => received.toString('utf8', bodyStart, bodyEnd) }
}
