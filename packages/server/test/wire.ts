import { connect, type Socket } from 'node:net'
import { assertKeepsContract, type Heard as Judged } from './contract-watch.ts'
import type { Harness } from './harness.ts'

/** A response as it came over the wire. */
export interface WireAnswer {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: what a test hears is checked by its assertions.
  body: any
}

/** Sends raw bytes to a listening service, because an HTTP library would correct them. */
export interface Wire {
  port: number
  /** Sends bytes and reads until the service closes the connection; send `connection: close` for that. */
  send(bytes: string | Uint8Array, options?: { end?: boolean }): Promise<WireAnswer[]>
  /** Sends one valid request whose head is given line by line. */
  ask(line: string, headers: readonly string[], body?: string | Uint8Array): Promise<WireAnswer>
  open(): Promise<Socket>
}

/** Bounds a hang: after this time the test fails and shows what has arrived. */
const patienceMs = 20_000

export async function openWire({ app }: Pick<Harness, 'app'>): Promise<Wire> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }

  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.once('connect', resolve).once('error', reject)
    await promise
    return socket
  }
  const send: Wire['send'] = async (bytes, { end = false } = {}) => {
    const socket = await open()
    if (end) socket.end(bytes)
    else socket.write(bytes)
    return readAnswers(await readAll(socket))
  }
  return {
    port,
    open,
    send,
    async ask(line, headers, body = '') {
      const length = Buffer.byteLength(body)
      const framed = headers.some(header => /^(content-length|transfer-encoding):/i.test(header))
      const head = [
        `${line} HTTP/1.1`,
        'host: here',
        'connection: close',
        ...(framed || length === 0 ? [] : [`content-length: ${length}`]),
        ...headers,
      ]
      const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
      const [answer] = await send(bytes)
      if (answer === undefined) throw new Error(`no answer to ${line}`)
      const [method = '', url = ''] = line.split(' ')
      assertKeepsContract({ method, url, ...answer } as Judged)
      return answer
    },
  }
}

/** Reads until the service closes the connection. A reset after the response counts as the end. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const heard = () => Buffer.concat(chunks).toString('latin1')
  socket.setTimeout(patienceMs, () => reject(new Error(`still open; heard ${heard()}`)))
  socket.on('data', chunk => chunks.push(chunk))
  socket.on('error', () => resolve()).on('close', () => resolve())
  try {
    await promise
    return heard()
  } finally {
    socket.destroy()
  }
}

/** Reads consecutive responses. Each one has a content-length, as all responses of this service do. */
export function readAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const cut = rest.indexOf('\r\n\r\n')
    if (cut === -1) throw new Error(`half an answer: ${rest}`)
    const [line = '', ...fields] = rest.slice(0, cut).split('\r\n')
    const status = Number(line.split(' ')[1])
    const headers = Object.fromEntries(
      fields.map(field => [field.split(': ')[0]?.toLowerCase() ?? '', field.slice(field.indexOf(': ') + 2)]),
    )
    const length = status < 200 ? 0 : Number(headers['content-length'] ?? 0)
    const body = Buffer.from(rest.slice(cut + 4, cut + 4 + length), 'latin1').toString()
    if (status >= 200)
      answers.push({
        status,
        headers,
        body: /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : body,
      })
    rest = rest.slice(cut + 4 + length)
  }
  return answers
}
