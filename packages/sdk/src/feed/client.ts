import { createHttpCaller, type HttpCallerOptions, parseJson, readDate } from '../http/call.ts'
import { closedError } from '../http/failure.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { cachedAnswer } from './odd.ts'

/** A page of 5,000 keys with eight limits each has about 6 MiB; sixty-four scopes of 200 characters make it 64 MiB. */
const BODY_MAX_BYTES = 96 * 1024 * 1024

export interface FeedRequest {
  path: '/v1/policy/snapshot' | '/v1/policy/delta'
  query: URLSearchParams
  ifNoneMatch?: string | undefined
  /** Seconds for which the service may hold an unchanged answer. 0: answer at once. */
  wait?: number
  timeoutMs: number
  signal: AbortSignal
}

interface FeedAnswer {
  /** Undefined: 304, unchanged. */
  body: unknown
  etag: string | undefined
  /** Whether the service holds unchanged answers as requested (RFC 7240, `Preference-Applied`). */
  waits: boolean
  /** `Date` of the answer in milliseconds since the epoch; undefined if absent. */
  date: number | undefined
}

export type FeedClient = (request: FeedRequest) => Promise<FeedAnswer>

/** One exchange with the feed, with entity tags and held answers. */
export function createFeedClient(options: HttpCallerOptions): FeedClient {
  const call = createHttpCaller(options)
  return async function request({ path, query, ifNoneMatch, wait = 0, timeoutMs, signal }) {
    const answer = await call({
      method: 'GET',
      path,
      query,
      headers: {
        'cache-control': 'no-store',
        ...(wait > 0 && { prefer: `wait=${wait}` }),
        ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
      },
      accepts: ifNoneMatch === undefined ? [200] : [200, 304],
      timeoutMs,
      maxBytes: BODY_MAX_BYTES,
      signal,
    }).catch((error: KeyrailError) => {
      throw error.code === 'aborted' ? closedError() : error
    })
    // Two caches in a row may each add one.
    const ages = answer.headers.get('age')?.split(',') ?? []
    const age = Math.max(...ages.map(text => Number.parseInt(text, 10) || 0))
    if (age > 0) throw cachedAnswer(`it has an Age of ${age} s`)
    const applied = answer.headers.get('preference-applied') ?? ''
    return {
      body: answer.status === 304 ? undefined : parseJson(answer.text),
      etag: answer.headers.get('etag') ?? undefined,
      date: readDate(answer.headers.get('date')),
      waits: wait > 0 && /(?:^|[\s,;])wait\b/i.test(applied),
    }
  }
}
