import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { Timer } from '../runtime/timer.ts'
import { type HttpRequest, type HttpSender, orAborted } from './call.ts'
import { abortedError, tooLarge, transportError } from './failure.ts'

export interface HttpStream extends HttpRequest {
  /** For the head of the answer, and again for each piece of its body. */
  timeoutMs: number
  timer: Timer
  signal?: AbortSignal | undefined
}

/**
 * One exchange whose body is read as it arrives. The exchange ends when the reader stops. Time that the reader spends
 * between two pieces does not count. A truncated body is an error.
 */
export async function* streamBody(
  send: HttpSender,
  { timeoutMs, timer, signal, ...asked }: HttpStream,
): AsyncGenerator<Uint8Array> {
  const what = `${asked.method} ${asked.path}`
  if (signal?.aborted) throw abortedError(what)
  const abort = new AbortController()
  const onAbort = () => abort.abort()
  signal?.addEventListener('abort', onAbort, { once: true })
  let timedOut = false
  const inTime = async <T>(work: () => Promise<T>): Promise<T> => {
    const late = () => {
      timedOut = true
      abort.abort()
    }
    const cancel = timer.after(timeoutMs, late, true)
    try {
      return await orAborted(work(), abort.signal)
    } catch (error) {
      throw transportError(error, { what, timedOut, aborted: signal?.aborted, ...send.stateOf(abort.signal) })
    } finally {
      cancel()
    }
  }
  try {
    const { body } = await inTime(() => send(asked, abort.signal))
    const pieces = body[Symbol.asyncIterator]()
    for (;;) {
      const { value, done } = await inTime(() => pieces.next())
      if (done) return
      yield value
    }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    abort.abort()
  }
}

/**
 * Lines that end in a line feed. No other character ends a line, because JSON may contain other Unicode line separators.
 *
 * @throws KeyrailError if the last line is incomplete, a line is too long, or the bytes are not UTF-8
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  { what, maxLength }: { what: string; maxLength: number },
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
    } catch {
      throw badStream(what, 'bytes that are not UTF-8')
    }
  }
  let pieces: string[] = []
  let length = 0
  for await (const chunk of chunks) {
    const [first = '', ...others] = decode(chunk).split('\n')
    let piece = first
    for (const next of others) {
      pieces.push(piece)
      yield pieces.join('')
      pieces = []
      length = 0
      piece = next
    }
    pieces.push(piece)
    length += piece.length
    if (length > maxLength) throw tooLarge(maxLength)
  }
  if (length > 0 || decode() !== '') throw badStream(what, 'an incomplete last line')
}

export const badStream = (what: string, why: string): KeyrailError =>
  passing('bad_response', `${what} was answered with ${why}`)
