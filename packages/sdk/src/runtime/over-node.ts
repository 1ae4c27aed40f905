import type { Agent, IncomingMessage } from 'node:http'
import { envProxy } from './env-proxy.ts'
import type { NodeHttp } from './node-http.ts'
import { hasChosenDispatcher } from './over-fetch.ts'
import type { Incoming, Outgoing, Transport } from './transport.ts'

/** As `fetch` sends them where nothing may be stored, with the encodings that `decoded` reads. */
const ownHeaders = { 'accept-encoding': 'br, gzip', 'cache-control': 'no-cache', pragma: 'no-cache' }
const decoderOptions = { chunkSize: 64 * 1024 }

/**
 * Sends by `node:http`, as `fetch` would. Nothing is sent twice.
 *
 * @param chosen sends in place of it once the program has chosen what sends the requests of `fetch`
 */
export function overNode(service: URL, node: NodeHttp, chosen: Transport): Transport {
  let agent: Agent | undefined
  return {
    async send(request, signal) {
      if (hasChosenDispatcher()) return await chosen.send(request, signal)
      agent ??= node.agent()
      return await exchange(node, agent, request, signal)
    },
    unusedProxy() {
      if (node.takesProxy || hasChosenDispatcher()) return ''
      const name = envProxy(service)?.name
      if (name === undefined) return ''
      return `. ${name} is set, and this Node does not use it: Node 24 does from 24.5 on, and 22 from 22.21`
    },
  }
}

function exchange(
  { http, zlib }: NodeHttp,
  agent: Agent,
  { method, url, headers, body }: Outgoing,
  signal: AbortSignal,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const all = { ...ownHeaders, ...length, ...headers }
    const request = http.request(new URL(url), { method, headers: all, agent })
    let answer: IncomingMessage | undefined
    const onAbort = () => {
      ;(answer ?? request).destroy()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    request.once('close', () => {
      signal.removeEventListener('abort', onAbort)
      // A switch to another protocol brings neither an answer nor an error.
      reject(withCode('ECONNRESET'))
    })
    // It may come after an answer too, whose reader learns it from the body.
    request.on('error', reject)
    request.once('response', response => {
      answer = response
      if (response.statusCode !== 407) return resolve(new NodeIncoming(response, zlib))
      response.destroy()
      reject(withCode('PROXY_AUTHENTICATION_REQUIRED'))
    })
    request.end(body)
  })
}

const withCode = (code: string): Error => Object.assign(new Error(code), { code })

/** A class: V8 would keep an object literal with a getter, and its response, until the next full collection. */
class NodeIncoming implements Incoming {
  readonly status: number
  readonly headers: Incoming['headers']
  readonly #response: IncomingMessage
  readonly #zlib: NodeHttp['zlib']

  constructor(response: IncomingMessage, zlib: NodeHttp['zlib']) {
    this.#response = response
    this.#zlib = zlib
    this.status = response.statusCode ?? 0
    this.headers = {
      get(name) {
        const value = response.headers[name]
        return value === undefined ? null : String(value)
      },
    }
  }

  get body(): AsyncIterable<Uint8Array> {
    return decoded(this.#response, this.#zlib)
  }

  drop(): void {
    this.#response.destroy()
  }
}

/** The body without its encoding. One that is damaged or ends early is an error. */
function decoded(response: IncomingMessage, zlib: NodeHttp['zlib']): AsyncIterable<Uint8Array> {
  const encoding = response.headers['content-encoding']?.toLowerCase()
  if (response.statusCode === 204 || response.statusCode === 304) return response
  if (encoding !== 'br' && encoding !== 'gzip') return response
  const decoder =
    encoding === 'br' ? zlib.createBrotliDecompress(decoderOptions) : zlib.createGunzip(decoderOptions)
  // Whoever reads sees the error, also if it comes before the first read.
  decoder.on('error', () => {})
  decoder.once('close', () => response.destroy())
  response.once('error', error => decoder.destroy(error))
  response.once('close', () => {
    if (!response.readableEnded) decoder.destroy()
  })
  return response.pipe(decoder)
}
