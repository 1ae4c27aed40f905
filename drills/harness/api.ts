import { Agent, request } from 'node:http'
import type { Answer, AskApi } from '../../packages/server/test/mutations.ts'

export type { Answer }

/** An answer over a real socket, and how long it took. */
export interface TimedAnswer extends Answer {
  headers: Record<string, string | string[] | undefined>
  ms: number
}

/** No complete answer came: the connection was refused or cut, or stayed silent for too long. */
export class Unanswered extends Error {
  /** Set when the socket hung until the drill's own timeout. */
  readonly hung: boolean
  constructor(reason: string, hung: boolean) {
    super(reason)
    this.hung = hung
  }
}

export interface Api {
  /** @throws {Unanswered} */
  ask(
    method: string,
    url: string,
    ask?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<TimedAnswer>
  close(): void
}

/** Far longer than every deadline of the service: a socket that is silent for so long hangs. */
const patienceMs = 20_000

export function openApi(baseUrl: string): Api {
  const agent = new Agent({ keepAlive: true })
  return {
    ask: (method, url, { token, body, headers = {} } = {}) => {
      const { promise, resolve, reject } = Promise.withResolvers<TimedAnswer>()
      const started = performance.now()
      const payload = body === undefined ? undefined : JSON.stringify(body)
      const call = request(new URL(url, baseUrl), {
        method,
        agent,
        timeout: patienceMs,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(payload),
          }),
          ...headers,
        },
      })
      let hung = false
      call.on('timeout', () => {
        hung = true
        call.destroy()
      })
      call.on('error', error => reject(new Unanswered(error.message, hung)))
      call.on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('error', error => reject(new Unanswered(error.message, hung)))
        response.on('aborted', () => reject(new Unanswered('cut in the middle of the answer', hung)))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = /json/.test(String(response.headers['content-type']))
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: isJson && text !== '' ? JSON.parse(text) : text,
            ms: performance.now() - started,
          })
        })
      })
      call.end(payload)
      return promise
    },
    close: () => agent.destroy(),
  }
}

/** The same call without timings, for actions that also run in-process. */
export const plainly =
  ({ ask }: Api): AskApi =>
  async (method, url, options) =>
    ask(method, url, options)
