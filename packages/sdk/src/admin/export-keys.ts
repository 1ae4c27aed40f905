import type { HttpSender } from '../http/call.ts'
import { parseMembers } from '../http/json.ts'
import { badStream, linesOf, streamBody } from '../http/stream.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { partsOf } from './calls.ts'
import { KEYS } from './export.ts'
import { errorFromService, fromService, toService } from './names.ts'
import { type AdminDefaults, type CallOptions, pauseAfter, queryOf } from './request.ts'

const { method, path } = partsOf(KEYS)
/** In characters. Far longer than any line, which has at most 64 KiB of `meta` and 64 scopes of 200 characters. */
const LINE_MAX_LENGTH = 1024 * 1024

interface Query {
  cursor?: string
  projectId?: string
  env?: 'live' | 'test'
}

/** Sends nothing until it is iterated. Each iteration reads the keys again. */
export function exportKeys<T>(
  send: HttpSender,
  query: Query = {},
  defaults: AdminDefaults,
  options: CallOptions = {},
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => readKeys<T>(send, query, defaults, options) }
}

/**
 * Keys in rising order of their ids, each once. A stream without its last line is broken: it asks again for the keys after the last
 * one. Each key resets the count of failures.
 */
async function* readKeys<T>(
  send: HttpSender,
  query: Query,
  defaults: AdminDefaults,
  { timeoutMs = defaults.timeoutMs, maxRetries = defaults.maxRetries, signal }: CallOptions,
): AsyncGenerator<T> {
  let { cursor, ...filter } = toService<{ cursor?: string }>(query)
  for (let failures = 0; ; ) {
    const body = streamBody(send, {
      method,
      path,
      query: queryOf({ ...filter, cursor }),
      headers: { accept: 'application/x-ndjson, application/problem+json' },
      accepts: [200],
      timeoutMs,
      timer: defaults.timer,
      signal,
    })
    let count = 0
    try {
      for await (const line of linesOf(body, { what: KEYS, maxLength: LINE_MAX_LENGTH })) {
        const key = readLine(line, cursor, count)
        if (key === null) return
        cursor = key.id
        count++
        failures = 0
        yield fromService(key) as T
      }
      throw badStream(KEYS, 'a stream without its last line')
    } catch (thrown) {
      const error = thrown as KeyrailError
      failures++
      if (!error.retryable || failures > maxRetries) throw errorFromService(error)
      await pauseAfter(error, failures, defaults, signal)
    }
  }
}

/**
 * @returns null for the last line
 * @throws KeyrailError if a line is no key, is out of order, or ends the stream after another number of keys
 */
function readLine(line: string, after: string | undefined = '', count: number): { id: string } | null {
  const members = parseMembers(line)
  const { object, id } = members
  if (object === 'export_end' && members.count === count) return null
  if (object === 'exported_key' && typeof id === 'string' && id > after.toLowerCase())
    return members as unknown as { id: string }
  throw badStream(KEYS, 'a line that is not the next key')
}
