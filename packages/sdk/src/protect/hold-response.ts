import type { ServerResponse } from 'node:http'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import type { StoredAnswer } from '../idempotency/stored-answer.ts'
import { checkStatus, type HeadGiven, headersIn, headSent } from './response-head.ts'

/** Hears how a request ends, before the customer does. */
export type Ending = Pick<HeldClaim, 'answered' | 'release' | 'leave'>

/** Node asks for the head by this name where a handler has not written one. */
type Internals = { _implicitHeader?: () => void }

/**
 * Holds an answer back until it is known to be stored, so that whoever has got it and asks again gets the same. Of
 * what grows beyond `maxBytes`, or is sent on at once by `flushHeaders`, no body is told; it is held until that is
 * known, and from then on passed as it comes.
 *
 * To its handler the response is what it would be if it was not held: what has begun has its head, which nobody
 * changes any more, lest an answer gets the length of another one.
 *
 * @param isKept asked when it has ended: whether a repetition is answered the same, or executed
 */
export function holdResponse(
  response: ServerResponse & Internals,
  maxBytes: number,
  claim: Ending,
  isKept: () => boolean = () => true,
): void {
  const { write, end, writeHead, flushHeaders, destroy, _implicitHeader } = response
  const { setHeader, appendHeader, removeHeader } = response
  const original = { write, end, writeHead, flushHeaders, destroy, _implicitHeader }
  let state: 'holding' | 'telling' | 'passing' = 'holding'
  /** As it is told and sent; what is set later counts for nothing. */
  let head: { status: number; message: string } | undefined
  let chunks: Uint8Array[] = []
  let bytes = 0
  let ended = false
  let finished: (() => void) | undefined
  let isDrainDue = false
  let sources = 0

  const begin = () => {
    // By its name, so that whoever wants to know when an answer begins is told now, and what they set is kept.
    if (head === undefined) response.writeHead(response.statusCode)
  }
  const keep = (chunk: Uint8Array) => {
    chunks.push(chunk)
    bytes += chunk.byteLength
  }
  const tell = (body: Uint8Array | null) => {
    state = 'telling'
    const { status } = head ?? { status: response.statusCode }
    const headers = Object.entries(response.getHeaders())
    void (isKept() ? claim.answered(status, headers, body) : claim.release()).then(pass, pass)
  }
  const pass = () => {
    state = 'passing'
    const held = Buffer.concat(chunks, bytes)
    chunks = []
    if (head !== undefined) Object.assign(response, { statusCode: head.status, statusMessage: head.message })
    try {
      if (ended) {
        const given = held.byteLength === 0 ? [finished] : [held, finished]
        original.end.apply(response, given.filter(each => each !== undefined) as never)
      } else if (held.byteLength === 0) {
        original.flushHeaders.call(response)
      } else if (original.write.call(response, held, 'utf8') && isDrainDue) {
        response.emit('drain')
      }
    } catch {
      // Such as a message of the status that no head can hold. Whoever wrote it is not there to catch it any more.
      original.destroy.call(response)
    }
  }
  const giveUp = () => {
    state = 'passing'
    chunks = []
    void claim.release()
  }

  const held = {
    write(...given: unknown[]): boolean {
      if (state === 'passing') return original.write.apply(response, given as never)
      const written = callbackIn(given)
      if (ended) {
        process.nextTick(written ?? (() => {}), tooLate('ERR_STREAM_WRITE_AFTER_END'))
        return false
      }
      const chunk = toBytes(given[0], given[1])
      begin()
      keep(chunk)
      if (state === 'holding' && bytes > maxBytes) tell(null)
      if (written) process.nextTick(written)
      isDrainDue = state === 'telling'
      return !isDrainDue
    },

    end(...given: unknown[]): ServerResponse {
      if (state === 'passing') return original.end.apply(response, given as never)
      const called = callbackIn(given)
      if (ended) {
        process.nextTick(called ?? (() => {}), tooLate('ERR_STREAM_ALREADY_FINISHED'))
        return response
      }
      const chunk = given[0] && given[0] !== called ? toBytes(given[0], given[1]) : undefined
      begin()
      if (chunk !== undefined) keep(chunk)
      ended = true
      finished = called
      if (state === 'holding') tell(bytes > maxBytes ? null : Buffer.concat(chunks, bytes))
      return response
    },

    writeHead(...given: HeadGiven): ServerResponse {
      if (state === 'passing') return original.writeHead.apply(response, given as never)
      if (head !== undefined) throw headSent('write')
      const [status, ...more] = given
      response.statusCode = checkStatus(status)
      if (typeof more[0] === 'string') response.statusMessage = more[0]
      for (const { name, value } of headersIn(more.at(-1))) response.setHeader(name, value)
      head = { status: response.statusCode, message: response.statusMessage }
      return response
    },

    flushHeaders(): void {
      if (state === 'passing') {
        original.flushHeaders.call(response)
        return
      }
      begin()
      if (state === 'holding') tell(null)
    },

    destroy(...given: [error?: Error]): ServerResponse {
      if (state === 'holding') giveUp()
      return original.destroy.apply(response, given) as ServerResponse
    },

    _implicitHeader(): void {
      if (state !== 'passing') begin()
      else if (head !== undefined) original.writeHead.call(response, head.status)
      else original._implicitHeader?.call(response)
    },
  }

  const guarded = Object.entries({ setHeader, appendHeader, removeHeader }).map(([name, change]) => [
    name,
    (...given: unknown[]): unknown => {
      if (state !== 'passing' && head !== undefined) throw headSent(name.replace('Header', ''))
      return Reflect.apply(change, response, given)
    },
  ])
  Object.assign(response, held, Object.fromEntries(guarded))
  const inner = Object.getPrototypeOf(response)
  const shown = (name: string, isSo: () => boolean) =>
    Object.defineProperty(response, name, {
      get: () => (state === 'passing' ? Reflect.get(inner, name, response) : isSo()),
      configurable: true,
    })
  shown('headersSent', () => head !== undefined)
  shown('writableEnded', () => ended)

  response.on('pipe', () => sources++)
  response.on('unpipe', () => sources--)
  response.once('close', () => {
    if (state !== 'holding') return
    // The source is cut off, so it will not end the answer. A handler that writes by itself may still do so.
    if (sources > 0) giveUp()
    else if (head !== undefined) claim.leave()
  })
}

/** Answers as a request was answered before. */
export function replayAnswer(response: ServerResponse, { status, headers, body }: StoredAnswer): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (body.byteLength === 0) response.end()
  else response.end(body)
}

/** @throws TypeError for what Node writes no more than this does */
function toBytes(chunk: unknown, encoding: unknown): Uint8Array {
  if (typeof chunk === 'string') {
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  }
  // Whoever wrote them may use the bytes for something else.
  if (chunk instanceof Uint8Array) return Uint8Array.from(chunk)
  throw Object.assign(new TypeError('The chunk must be a string or a Uint8Array'), {
    code: 'ERR_INVALID_ARG_TYPE',
  })
}

const tooLate = (code: string): Error => Object.assign(new Error('The answer has ended'), { code })

const callbackIn = (given: readonly unknown[]): ((error?: Error) => void) | undefined =>
  given.find((each): each is () => void => typeof each === 'function')
