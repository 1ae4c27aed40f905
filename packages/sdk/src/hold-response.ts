import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { AnswerHeaders, StoredAnswer } from './stored-answer.ts'

/** Hears how a request was answered, before the customer does. It never rejects. */
export type Answered = (status: number, headers: AnswerHeaders, body: Uint8Array | null) => Promise<void>

type WriteHead = [
  status: number,
  ...more: (string | OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined)[],
]

/**
 * Holds an answer back until it is known to be stored, so that whoever has got it and asks again gets the same. Of
 * what grows beyond `maxBytes`, or is sent on at once by `flushHeaders`, no body is told; it is held until that is
 * known, and from then on passed as it comes.
 */
export function holdResponse(response: ServerResponse, maxBytes: number, answered: Answered): void {
  const original = {
    write: response.write,
    end: response.end,
    writeHead: response.writeHead,
    flushHeaders: response.flushHeaders,
  }
  let state: 'holding' | 'telling' | 'passing' = 'holding'
  let chunks: Uint8Array[] = []
  let bytes = 0
  let ended = false
  let finished: (() => void) | undefined

  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    // Whoever wrote them may use the bytes for something else.
    const kept = typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Uint8Array.from(chunk)
    chunks.push(kept)
    bytes += kept.byteLength
  }
  const tell = (body: Uint8Array | null) => {
    state = 'telling'
    const headers = Object.entries(response.getHeaders())
    void answered(response.statusCode, headers, body).then(pass, pass)
  }
  const pass = () => {
    state = 'passing'
    const held = Buffer.concat(chunks, bytes)
    chunks = []
    if (ended) {
      const given = held.byteLength === 0 ? [finished] : [held, finished]
      original.end.apply(response, given.filter(each => each !== undefined) as never)
    } else if (held.byteLength > 0) {
      original.write.call(response, held, 'utf8')
    } else {
      original.flushHeaders.call(response)
    }
  }

  function write(...given: unknown[]): boolean {
    if (state === 'passing') return original.write.apply(response, given as never)
    if (ended) return false
    keep(given[0], given[1])
    if (state === 'holding' && bytes > maxBytes) tell(null)
    const written = callbackIn(given)
    if (written) process.nextTick(written)
    return true
  }

  function end(...given: unknown[]): ServerResponse {
    if (state === 'passing') return original.end.apply(response, given as never)
    if (ended) return response
    ended = true
    finished = callbackIn(given)
    keep(given[0], given[1])
    if (state === 'holding') tell(bytes > maxBytes ? null : Buffer.concat(chunks, bytes))
    return response
  }

  function writeHead(...given: WriteHead): ServerResponse {
    if (state === 'passing') return original.writeHead.apply(response, given as never)
    const [status, ...more] = given
    response.statusCode = status
    if (typeof more[0] === 'string') response.statusMessage = more[0]
    for (const [name, value] of headerPairs(more.at(-1))) {
      if (value !== undefined) response.setHeader(name, value)
    }
    return response
  }

  function flushHeaders(): void {
    if (state === 'passing') original.flushHeaders.call(response)
    else if (state === 'holding') tell(null)
  }

  Object.assign(response, { write, end, writeHead, flushHeaders })
}

/** Answers as a request was answered before. */
export function replayAnswer(response: ServerResponse, { status, headers, body }: StoredAnswer): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (body.byteLength === 0) response.end()
  else response.end(body)
}

/** As `writeHead` takes them: an object, pairs, or names and values in turn. */
function* headerPairs(headers: unknown): Generator<[string, OutgoingHttpHeader | undefined]> {
  if (typeof headers !== 'object' || headers === null) return
  if (!Array.isArray(headers)) yield* Object.entries(headers as OutgoingHttpHeaders)
  else if (Array.isArray(headers[0])) yield* headers as [string, OutgoingHttpHeader][]
  else for (let at = 0; at + 1 < headers.length; at += 2) yield [String(headers[at]), headers[at + 1]]
}

const encodingOf = (encoding: unknown): BufferEncoding =>
  typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'

const callbackIn = (given: readonly unknown[]): (() => void) | undefined =>
  given.find((each): each is () => void => typeof each === 'function')
