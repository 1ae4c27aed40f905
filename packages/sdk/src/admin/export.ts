import { type HttpSender, parseMembers } from '../http/call.ts'
import { abortedError } from '../http/failure.ts'
import { badStream, linesOf, streamBody } from '../http/stream.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Timer } from '../runtime/timer.ts'
import { type CallOptions, pauseAfter, queryOf } from './request.ts'

const PATH = '/v1/audit_logs/export'
const WHAT = `GET ${PATH}`
/** Characters; far longer than any row: its payload has at most two values of `meta`, old and new, of 64 KiB each. */
const LINE_MAX_LENGTH = 4 * 1024 * 1024

export interface ExportDefaults {
  timer: Timer
  random: () => number
  timeoutMs: number
  maxRetries: number
}

/** Asks for nothing until it is read; whoever reads it twice gets it twice. */
export function exportRows<T>(
  send: HttpSender,
  query: { after_seq?: number } = {},
  defaults: ExportDefaults,
  options: CallOptions = {},
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => readRows<T>(send, query, defaults, options) }
}

/**
 * Rows in rising order of `seq`, each once. What breaks off is asked for again behind the last row; a failure counts
 * anew once a row has come.
 */
async function* readRows<T>(
  send: HttpSender,
  query: { after_seq?: number },
  { timer, random, ...defaults }: ExportDefaults,
  { timeoutMs = defaults.timeoutMs, maxRetries = defaults.maxRetries, signal }: CallOptions,
): AsyncGenerator<T> {
  let { after_seq } = query
  for (let failures = 0; ; ) {
    const body = streamBody(send, {
      method: 'GET',
      path: PATH,
      query: queryOf({ after_seq }),
      headers: { accept: 'application/x-ndjson, application/problem+json' },
      accepts: [200],
      timeoutMs,
      timer,
      signal,
    })
    try {
      for await (const line of linesOf(body, { what: WHAT, maxLength: LINE_MAX_LENGTH })) {
        const row = readRow(line, after_seq)
        after_seq = row.seq
        failures = 0
        yield row as T
      }
      return
    } catch (thrown) {
      const error = thrown as KeyrailError
      failures++
      if (!error.retryable || failures > maxRetries) throw error
      await pauseAfter(error, failures, { timer, random }, signal)
      if (signal?.aborted) throw abortedError(WHAT)
    }
  }
}

/** @throws KeyrailError where a line is no row, or is one that should have come before */
function readRow(line: string, after: number | undefined = 0): { seq: number } {
  const row = parseMembers(line)
  const { object, seq } = row
  if (object === 'audit_log' && Number.isSafeInteger(seq) && (seq as number) > after) {
    return row as unknown as { seq: number }
  }
  throw badStream(WHAT, `a line that is no row behind ${after}`)
}
