/**
 * Calls the service. `failure.ts` makes one error of all failures, `schedule.ts` says when to retry,
 * `connection-options.ts` and `option-values.ts` read options, `observer.ts` reports calls, and `gatherer.ts` asks for many with
 * one.
 */

import { joined, textOf } from '../runtime/bytes.ts'
import { type Incoming, transportTo } from '../runtime/transport.ts'
import { userAgent } from '../runtime/user-agent.ts'
import {
  abortedError,
  pageError,
  problemError,
  redirectedError,
  tooLarge,
  transportError,
} from './failure.ts'
import { observers } from './observer.ts'
import { currentSecretKey, type SecretKeySource } from './secret-key.ts'

const PROBLEM_MAX_BYTES = 64 * 1024
/** 0: from runtimes that hide the status of a redirect. */
const redirects: readonly number[] = [0, 301, 302, 303, 307, 308]

export interface HttpCallerOptions {
  url: URL
  secretKey: SecretKeySource
  /** The option; undefined: what the runtime has. */
  fetch: typeof globalThis.fetch | undefined
}

/** A request to the service. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: URLSearchParams | undefined
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: unknown
  /** The expected statuses; every other one is an error. */
  accepts: readonly number[]
}

interface HttpCall extends HttpRequest {
  /** For the whole exchange, including the body. */
  timeoutMs: number
  /** The most bytes that an answer may have. */
  maxBytes: number
  signal?: AbortSignal | undefined
}

interface HttpAnswer {
  status: number
  headers: Pick<Headers, 'get'>
  text: string
}

export type HttpCaller = (call: HttpCall) => Promise<HttpAnswer>

/**
 * One exchange with the service, with a timeout, a bounded body and one kind of error. Redirects are rejected, because they
 * would carry the secret key elsewhere.
 */
export function createHttpCaller(options: HttpCallerOptions): HttpCaller {
  const send = createHttpSender(options)
  const call: HttpCaller = async ({ timeoutMs, maxBytes, signal, ...asked }) => {
    const what = `${asked.method} ${asked.path}`
    if (signal?.aborted) throw abortedError(what)
    const abort = new AbortController()
    const onAbort = () => abort.abort()
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      abort.abort()
    }, timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    const exchange = async () => {
      const response = await send(asked, abort.signal)
      const text = await readText(response, maxBytes)
      // JSON never begins with this.
      if (text.trimStart().startsWith('<')) throw pageError(what, send.origin)
      return { status: response.status, headers: response.headers, text }
    }
    try {
      return await orAborted(exchange(), abort.signal)
    } catch (error) {
      throw transportError(error, { what, timedOut, aborted: signal?.aborted, ...send.stateOf(abort.signal) })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
  return asked => observers.at(-1)?.(asked.path, () => call(asked)) ?? call(asked)
}

/** The result of the work, or a rejection when the signal aborts: a custom `fetch` may ignore the signal. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

export interface HttpSender {
  (request: HttpRequest, signal: AbortSignal): Promise<Incoming>
  /** Scheme, host and port of the service. */
  readonly origin: string
  /** For the error of an exchange: where it went and how, and whether it still waits for the function `secretKey`. */
  stateOf(signal: AbortSignal): { origin: string; waitsForSecret: boolean; unusedProxy: () => string }
}

/** Sends a request and reads the head of its answer. Rejects with a KeyrailError if the status is not expected. */
export function createHttpSender({ url, secretKey: source, fetch }: HttpCallerOptions): HttpSender {
  const base = url.href.replace(/\/+$/, '')
  const { origin } = url
  const transport = transportTo(url, fetch)
  const waiting = new WeakSet<AbortSignal>()
  const currentSecret = async (signal: AbortSignal): Promise<string> => {
    if (typeof source === 'string') return source
    waiting.add(signal)
    const secretKey = await currentSecretKey(source)
    waiting.delete(signal)
    return secretKey
  }
  async function send(
    { method, path, query, headers, body, accepts }: HttpRequest,
    signal: AbortSignal,
  ): Promise<Incoming> {
    const search = query === undefined || query.size === 0 ? '' : `?${query}`
    const secretKey = await currentSecret(signal)
    const request = {
      method,
      url: `${base}${path}${search}`,
      headers: {
        authorization: `Bearer ${secretKey}`,
        accept: 'application/json',
        'user-agent': userAgent,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    }
    const response = await transport.send(request, signal)
    if (accepts.includes(response.status)) return response
    if (redirects.includes(response.status)) {
      response.drop()
      throw redirectedError(`${method} ${path}`, response.headers.get('location'), origin)
    }
    const text = await readText(response, PROBLEM_MAX_BYTES).catch(() => '')
    throw problemError(`${method} ${path}`, response, text, { secretKey, origin })
  }
  return Object.assign(send, {
    origin,
    stateOf: (signal: AbortSignal) => ({
      origin,
      waitsForSecret: waiting.has(signal),
      unusedProxy: transport.unusedProxy,
    }),
  })
}

async function readText({ body }: Incoming, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    // Throwing out of the loop cancels the body, and with it the connection.
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return textOf(joined(chunks, bytes))
}

/** Milliseconds since the epoch; undefined if it is not a date. */
export function readDate(header: string | null): number | undefined {
  const at = header === null ? Number.NaN : Date.parse(header)
  return Number.isNaN(at) ? undefined : at
}
