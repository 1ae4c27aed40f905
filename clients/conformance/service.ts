import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Answer, Asked, Json } from './case.ts'
import { Inquiry } from './inquiry.ts'

interface Queued {
  answer: Answer
  asked: Asked | undefined
  /** The step of the case. */
  step: number
}

interface Play {
  secretKey: string
  /** The service's time now, in milliseconds since the epoch. */
  now: () => number
  /** Moves the clock of the node. */
  advance: (milliseconds: number) => Promise<void>
}

const DRIP_MS = 20

/** Plays the service for one case, on a real socket: gives the queued answers, and checks what was asked. */
export class ScriptedService {
  readonly faults: string[] = []
  readonly #play: Play
  readonly #queue: Queued[] = []
  readonly #inquiry: Inquiry
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  constructor(play: Play) {
    this.#play = play
    this.#inquiry = new Inquiry(play.secretKey)
  }

  /** @returns the address */
  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  queue(step: number, answer: Answer, asked?: Asked): void {
    this.#queue.push({ step, answer, asked })
  }

  /** The steps whose answers nobody asked for. */
  get left(): number[] {
    return this.#queue.map(({ step }) => step)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response)
    } catch {
      // The node has closed the connection.
      response.destroy()
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const inquiry = this.#inquiry.read(request, await bodyOf(request))
    this.faults.push(...inquiry.faults)
    const date = { date: new Date(this.#play.now()).toUTCString() }
    if (inquiry.path === '/v1/healthz') return send(response, { headers: date, body: {} }, false)
    const next = this.#queue.shift()
    if (next === undefined) {
      this.faults.push(`asked ${inquiry.what}, and no answer was queued`)
      return send(response, { status: 500, headers: date, text: '' }, false)
    }
    const { answer, asked, step } = next
    for (const fault of this.#inquiry.faultsOf(inquiry, asked ?? {}))
      this.faults.push(`step ${step}: ${fault}`)
    if (answer.advance !== undefined) await this.#play.advance(answer.advance)
    if (answer.hang) return
    if (answer.wire !== undefined) {
      if (response.socket) write(response.socket, answer)
      return
    }
    const zips = answer.gzip === true && String(request.headers['accept-encoding']).includes('gzip')
    const listed = inquiry.isListed && answer.body !== undefined && (answer.status ?? 200) === 200
    const body = listed ? { object: 'ratelimit_checks', checks: [answer.body] } : answer.body
    send(response, { ...answer, body, headers: { ...date, ...answer.headers } }, zips)
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, answer: Answer, zips: boolean): void {
  const { status = 200, headers = {} } = answer
  const plain = bytesOf(answer)
  const bytes = zips ? gzipSync(plain, { level: 1 }) : plain
  const encoding: Json = zips ? { 'content-encoding': 'gzip' } : {}
  const all = { 'content-type': 'application/json', ...encoding, ...headers } as Record<string, string>
  response.writeHead(status, all)
  response.end(bytes)
}

function bytesOf({ body, text, base64, repeat }: Answer): Buffer {
  if (base64 !== undefined) return Buffer.from(base64, 'base64')
  if (repeat !== undefined) return Buffer.alloc(Buffer.byteLength(repeat.text) * repeat.times, repeat.text)
  return Buffer.from(text ?? (body === undefined ? '' : JSON.stringify(body)))
}

function write(socket: Socket, { wire = '', end = 'close', drip = ' ' }: Answer): void {
  socket.on('error', () => {})
  const bytes = Buffer.from(wire, 'base64')
  if (end === 'close') return void socket.end(bytes)
  if (bytes.length > 0) socket.write(bytes)
  if (end === 'reset') socket.resetAndDestroy()
  if (end === 'drip') {
    const timer = setInterval(() => socket.write(drip), DRIP_MS)
    socket.once('close', () => clearInterval(timer))
  }
  if (end === 'flood') {
    const piece = Buffer.alloc(Math.ceil((64 * 1024) / drip.length) * drip.length, drip)
    const more = () => {
      while (socket.writable && socket.write(piece));
    }
    socket.on('drain', more)
    more()
  }
}
