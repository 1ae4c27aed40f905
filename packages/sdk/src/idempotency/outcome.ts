import type { AnswerHeaders } from './stored-answer.ts'

/** Which answers say that a request is done, and which may be kept. */

/** Client errors that say "not now": a timeout, a request too early, too many requests. */
const notNow = new Set([408, 425, 429])

/** Types whose answers have no end that a client waits for. */
const streams = new Set(['text/event-stream', 'application/x-ndjson'])

/** How long an answer may take after its first byte before it counts as a stream, in ms. */
export const STREAMS_AFTER_MS = 500

/**
 * Whether an answer is the outcome of its request. Only an outcome is kept: any other answer asks for another attempt, which
 * would get the same answer until the record ends.
 */
export function isOutcome(status: number, headers: AnswerHeaders): boolean {
  if (status < 200 || status >= 500 || notNow.has(status)) return false
  return ![...headers].some(([name, value]) => value !== undefined && name.toLowerCase() === 'retry-after')
}

/** Whether an answer of this content type streams. It passes as it comes, and is not replayed. */
export const isStreamType = (type: unknown): boolean =>
  streams.has(
    String(type ?? '')
      .split(';', 1)[0]
      ?.trim()
      .toLowerCase() ?? '',
  )
