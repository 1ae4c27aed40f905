import { createHttpCaller, type HttpCallerOptions, readDate } from '../http/call.ts'
import { closedError } from '../http/failure.ts'
import { parseJson } from '../http/json.ts'
import type { KeyrailError } from '../runtime/errors.ts'

/** A page of 5,000 keys with eight limits each has about 6 MiB; sixty-four scopes of 200 characters make it 64 MiB. */
const BODY_MAX_BYTES = 96 * 1024 * 1024

export interface FeedRequest {
  path: '/v1/policy/snapshot' | '/v1/policy/delta'
  query: URLSearchParams
  /** Seconds for which the service may hold an unchanged answer. 0: answer at once. */
  wait?: number
  timeoutMs: number
  signal: AbortSignal
}

interface FeedAnswer {
  body: unknown
  /** Whether the service holds unchanged answers as requested (RFC 7240, `Preference-Applied`). */
  waits: boolean
  /** `Date` of the answer in milliseconds since the epoch; undefined if absent. */
  date: number | undefined
  /** `Age` of the answer; 0 if absent. */
  ageSeconds: number
}

export type FeedClient = (request: FeedRequest) => Promise<FeedAnswer>

/**
 * One exchange with the feed. No request is conditional, because a cache could answer it without the service. For the same
 * reason each request has a parameter that never repeats, which the service ignores.
 */
export function createFeedClient(options: HttpCallerOptions): FeedClient {
  const call = createHttpCaller(options)
  return async function request({ path, query, wait = 0, timeoutMs, signal }) {
    const asked = new URLSearchParams(query)
    asked.set('nonce', crypto.randomUUID())
    const answer = await call({
      method: 'GET',
      path,
      query: asked,
      headers: {
        'cache-control': 'no-store',
        ...(wait > 0 && { prefer: `wait=${wait}` }),
      },
      accepts: [200],
      timeoutMs,
      maxBytes: BODY_MAX_BYTES,
      signal,
    }).catch((error: KeyrailError) => {
      throw error.code === 'aborted' ? closedError() : error
    })
    // Two caches in a row may each add an `Age`.
    const ages = answer.headers.get('age')?.split(',') ?? []
    const applied = answer.headers.get('preference-applied') ?? ''
    return {
      body: parseJson(answer.text),
      ageSeconds: Math.max(0, ...ages.map(text => Number.parseInt(text, 10) || 0)),
      date: readDate(answer.headers.get('date')),
      waits: wait > 0 && /(?:^|[\s,;])wait\b/i.test(applied),
    }
  }
}
