import { randomUUID } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tally } from './neighbour-attacks.ts'

/** Requests that one credential repeats, on separate connections. */
export interface Flood {
  readonly token: string
  readonly connections: number
  readonly method: string
  /** `{id}` stands for an unknown id, another one each time. */
  readonly path: string
  readonly body?: unknown
}

export interface FloodTarget {
  readonly url: string
  /** Another network of this machine than the owner's. */
  readonly from: string
}

/** Begins floods; they go on until the returned function is called, which closes all their connections. */
export function startFloods(
  floods: readonly Flood[],
  { url, from }: FloodTarget,
): { tally: Tally; stop(): Promise<void> } {
  const stop = new AbortController()
  const tally: Tally = {}
  const { hostname, port } = new URL(url)
  const agent = new Agent({ keepAlive: true, maxSockets: 4_000 })
  const once = ({ token, method, path, body }: Flood): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${token}`,
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
    }
    const options = { method, hostname, port, path: path.replace('{id}', randomUUID()), agent, headers }
    const call = request({ ...options, localAddress: from, signal: stop.signal })
    call.on('error', reject)
    call.on('response', (response: IncomingMessage) => {
      response.resume()
      response.on('error', reject)
      response.on('end', () => resolve(String(response.statusCode)))
    })
    call.end(payload)
    return promise
  }
  const repeat = async (flood: Flood) => {
    while (!stop.signal.aborted) {
      const heard = await once(flood).catch(() => 'none')
      tally[heard] = (tally[heard] ?? 0) + 1
      if (!/^2/.test(heard)) await sleep(20)
    }
  }
  const running = Promise.all(
    floods.flatMap(flood => Array.from({ length: flood.connections }, () => repeat(flood))),
  )
  return {
    tally,
    async stop() {
      stop.abort()
      agent.destroy()
      await running
    },
  }
}
