import { nodeHttp } from './node-http.ts'
import { isNodesFetch, overFetch } from './over-fetch.ts'
import { overNode } from './over-node.ts'

/**
 * What carries calls to the service. On Node, `over-node.ts` with `node:http`, because a call of `fetch` costs several times its
 * processor time; elsewhere, and if the program chose a `fetch`, `over-fetch.ts`.
 */

/** A request as it is sent. */
export interface Outgoing {
  method: string
  /** Absolute. */
  url: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
}

/** An answer as it arrives. */
export interface Incoming {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  /** Pieces of the body, decompressed; read once. Whoever stops reading ends the exchange, and with it the connection. */
  readonly body: AsyncIterable<Uint8Array>
  /** Ends the exchange without reading the body. */
  drop(): void
}

export interface Transport {
  /** Follows no redirect. Rejects with what the runtime throws. */
  send(request: Outgoing, signal: AbortSignal): Promise<Incoming>
  /** For the error of a call: names the proxy of the environment that calls do not use. Empty if there is none. */
  unusedProxy(): string
}

/** @param given the option `fetch` */
export function transportTo(url: URL, given: typeof globalThis.fetch | undefined): Transport {
  const { fetch } = globalThis
  const chosen = overFetch(given ?? fetch, url)
  // A test double or an instrumentation may have replaced the function.
  if (given !== undefined || !isNodesFetch(fetch)) return chosen
  const http = nodeHttp(url)
  return http === undefined ? chosen : overNode(url, http, chosen)
}
