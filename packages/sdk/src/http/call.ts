import { joined, textOf } from '../runtime/bytes.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { userAgent } from '../runtime/user-agent.ts'
import {
  abortedError,
  pageError,
  problemError,
  redirectedError,
  tooLarge,
  transportError,
} from './failure.ts'
import { observer } from './observer.ts'
import { currentSecretKey, type SecretKeySource } from './secret-key.ts'

const PROBLEM_MAX_BYTES = 64 * 1024
/** 0: of a runtime that does not tell which. */
const redirects: readonly number[] = [0, 301, 302, 303, 307, 308]

export interface HttpCallerOptions {
  baseUrl: URL
  secretKey: SecretKeySource
  fetch: typeof globalThis.fetch
}

/** What is asked of the service. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: URLSearchParams | undefined
  headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: unknown
  /** Statuses that are answers; every other one is an error. */
  accepts: readonly number[]
}

export interface HttpCall extends HttpRequest {
  /** For the whole exchange, the body included. */
  timeoutMs: number
  /** Bytes that an answer may have. */
  maxBytes: number
  signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
}

export type HttpCaller = (call: HttpCall) => Promise<HttpAnswer>

/**
 * One exchange with the service: time-out, bounded body, and one kind of error whatever went wrong. Redirects
 * are refused, because they would carry the secret key elsewhere.
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
      // No JSON begins so.
      if (text.trimStart().startsWith('<')) throw pageError(what, send.origin)
      return { status: response.status, headers: response.headers, text }
    }
    try {
      return await orAborted(exchange(), abort.signal)
    } catch (error) {
      if (error instanceof KeyrailError) throw error
      throw transportError(error, { what, origin: send.origin, timedOut, aborted: signal?.aborted === true })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }
  return asked => observer.around?.(asked.path, () => call(asked)) ?? call(asked)
}

/** The work, until its signal says that nobody waits for it any more: a caller's own `fetch` may not heed it. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

export interface HttpSender {
  (request: HttpRequest, signal: AbortSignal): Promise<Response>
  /** Scheme, host and port of the service. */
  readonly origin: string
}

/** Sends a request and takes the head of its answer. What is no answer that is accepted is a KeyrailError. */
export function createHttpSender({ baseUrl, secretKey: source, fetch }: HttpCallerOptions): HttpSender {
  const base = baseUrl.href.replace(/\/+$/, '')
  const { origin } = baseUrl
  async function send(
    { method, path, query, headers, body, accepts }: HttpRequest,
    signal: AbortSignal,
  ): Promise<Response> {
    const search = query === undefined || query.size === 0 ? '' : `?${query}`
    const secretKey = typeof source === 'string' ? source : await currentSecretKey(source)
    const response = await fetch(`${base}${path}${search}`, {
      method,
      headers: {
        authorization: `Bearer ${secretKey}`,
        accept: 'application/json',
        'user-agent': userAgent,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // Workers know no `error`.
      redirect: 'manual',
      signal,
    })
    if (accepts.includes(response.status)) return response
    if (redirects.includes(response.status)) {
      await response.body?.cancel()
      throw redirectedError(`${method} ${path}`, response.headers.get('location'), origin)
    }
    const text = await readText(response, PROBLEM_MAX_BYTES).catch(() => '')
    throw problemError(`${method} ${path}`, response, text, { secretKey, origin })
  }
  return Object.assign(send, { origin })
}

/** Null for what is no JSON: no body of the service is null, so it is refused where bodies are. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The members of a JSON object; none for anything else, so that each is checked where it is read. */
export function parseMembers(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    // Leaving the loop by a throw cancels the body, and with it the connection.
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return textOf(joined(chunks, bytes))
}

/** Milliseconds; undefined for what is no date. */
export function readDate(header: string | null): number | undefined {
  const at = header === null ? Number.NaN : Date.parse(header)
  return Number.isNaN(at) ? undefined : at
}
