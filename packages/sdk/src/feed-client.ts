import { KeyringError } from './errors.ts'
import { problemError, tooLarge, transportError } from './feed-problem.ts'

/** A page of 5,000 keys with eight limits each is about 6 MiB; sixty-four scopes of 200 characters make it 64. */
const BODY_MAX_BYTES = 96 * 1024 * 1024
const PROBLEM_MAX_BYTES = 64 * 1024

export interface FeedClientOptions {
  baseUrl: URL
  secretKey: string
  fetch: typeof globalThis.fetch
}

export interface FeedRequest {
  path: '/v1/policy/snapshot' | '/v1/policy/delta'
  query: URLSearchParams
  ifNoneMatch?: string | undefined
  /** Seconds that the service may hold an unchanged answer; 0: do not ask for it. */
  wait?: number
  timeoutMs: number
  signal: AbortSignal
}

export interface FeedAnswer {
  /** Undefined: 304, nothing has changed. */
  body: unknown
  etag: string | undefined
  /** Whether the service holds unchanged answers as it was asked to (RFC 7240, `Preference-Applied`). */
  waits: boolean
}

export type FeedClient = (request: FeedRequest) => Promise<FeedAnswer>

/**
 * One exchange with the service: time-out, bounded body, and one kind of error whatever went wrong. Redirects
 * are refused, because they would carry the secret key elsewhere.
 */
export function createFeedClient({ baseUrl, secretKey, fetch }: FeedClientOptions): FeedClient {
  const base = baseUrl.href.replace(/\/+$/, '')
  return async function request({ path, query, ifNoneMatch, wait = 0, timeoutMs, signal }) {
    const abort = new AbortController()
    const onClose = () => abort.abort()
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      abort.abort()
    }, timeoutMs)
    signal.addEventListener('abort', onClose, { once: true })
    if (signal.aborted) onClose()
    try {
      const response = await fetch(`${base}${path}?${query}`, {
        headers: {
          authorization: `Bearer ${secretKey}`,
          accept: 'application/json',
          ...(wait > 0 && { prefer: `wait=${wait}` }),
          ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
        },
        redirect: 'error',
        signal: abort.signal,
      })
      const applied = response.headers.get('preference-applied') ?? ''
      const facts = {
        etag: response.headers.get('etag') ?? undefined,
        waits: wait > 0 && /(?:^|[\s,;])wait\b/i.test(applied),
      }
      if (response.status === 304 && ifNoneMatch !== undefined) {
        await response.body?.cancel()
        return { body: undefined, ...facts }
      }
      if (response.status !== 200) {
        throw problemError(
          path,
          response,
          await readText(response, PROBLEM_MAX_BYTES).catch(() => ''),
          secretKey,
        )
      }
      const text = await readText(response, BODY_MAX_BYTES)
      return { body: parse(text), ...facts }
    } catch (error) {
      if (error instanceof KeyringError) throw error
      throw transportError(error, { path, timedOut, closed: signal.aborted })
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onClose)
    }
  }
}

/** Null for what is no JSON: no body of the feed is null, so it is refused where bodies are. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
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
  return Buffer.concat(chunks, bytes).toString('utf8')
}
