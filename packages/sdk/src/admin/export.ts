import type { HttpSender } from '../http/call.ts'
import { parseMembers } from '../http/json.ts'
import { badStream, linesOf, streamBody } from '../http/stream.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { partsOf, type RouteName } from './calls.ts'
import { errorFromService, fromService, toService } from './names.ts'
import { type AdminDefaults, type CallOptions, pauseAfter, queryOf } from './request.ts'

const WHAT = 'GET /v1/audit_logs/export' satisfies RouteName
/** What `export-keys.ts` reads. */
export const KEYS = 'GET /v1/keys/export' satisfies RouteName
const { method, path } = partsOf(WHAT)
/** In characters. Far longer than any row, whose payload has at most two values of `meta` (old and new), 64 KiB each. */
const LINE_MAX_LENGTH = 4 * 1024 * 1024

/** Sends nothing until it is iterated. Each iteration reads the log again. */
export function exportRows<T>(
  send: HttpSender,
  query: { afterSeq?: number } = {},
  defaults: AdminDefaults,
  options: CallOptions = {},
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => readRows<T>(send, query, defaults, options) }
}

/**
 * Rows in rising order of `seq`, each once. After a broken stream it asks again for the rows after the last one. Each row
 * resets the count of failures.
 */
async function* readRows<T>(
  send: HttpSender,
  query: { afterSeq?: number },
  defaults: AdminDefaults,
  { timeoutMs = defaults.timeoutMs, maxRetries = defaults.maxRetries, signal }: CallOptions,
): AsyncGenerator<T> {
  let { after_seq }: { after_seq?: number } = toService<object>(query)
  for (let failures = 0; ; ) {
    const body = streamBody(send, {
      method,
      path,
      query: queryOf({ after_seq }),
      headers: { accept: 'application/x-ndjson, application/problem+json' },
      accepts: [200],
      timeoutMs,
      timer: defaults.timer,
      signal,
    })
    try {
      for await (const line of linesOf(body, { what: WHAT, maxLength: LINE_MAX_LENGTH })) {
        const row = readRow(line, after_seq)
        after_seq = row.seq
        failures = 0
        yield fromService(row) as T
      }
      return
    } catch (thrown) {
      const error = thrown as KeyrailError
      failures++
      if (!error.retryable || failures > maxRetries) throw errorFromService(error)
      await pauseAfter(error, failures, defaults, signal)
    }
  }
}

/** @throws KeyrailError if a line is not a row, or is out of order */
function readRow(line: string, after: number | undefined = 0): { seq: number } {
  const row = parseMembers(line)
  const { object, seq } = row
  if (object === 'audit_log' && Number.isSafeInteger(seq) && (seq as number) > after) {
    return row as unknown as { seq: number }
  }
  throw badStream(WHAT, `a line that is not a row after ${after}`)
}
