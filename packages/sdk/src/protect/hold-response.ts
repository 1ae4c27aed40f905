import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { copyHeaders, headersBehind } from '../idempotency/exchange-headers.ts'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import { isStreamType, STREAMS_AFTER_MS } from '../idempotency/outcome.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { isBeyondAscii, writeHeadFirst } from './replay-answer.ts'
import { type Callback, callbackIn, failSoon, toBytes } from './response-chunks.ts'
import { checkStatus, type HeadGiven, headersIn, headSent } from './response-head.ts'

/** The calls that end a claim. */
type Ending = Pick<HeldClaim, 'answered' | 'release' | 'leave'>

/** Node calls `_implicitHeader` to write the head of an answer whose handler wrote none. Compression adds `flush`. */
type NodeResponse = ServerResponse & { _implicitHeader?: () => void; flush?: (...given: never[]) => unknown }

export interface HoldOptions {
  /** Called at the end: true stores the answer for repetitions, false lets a repetition execute. */
  isKept?: (() => boolean) | undefined
  /** The headers that middleware before the claim has set, if they are not yet in the response. */
  before?: OutgoingHttpHeaders | undefined
  timer?: Timer | undefined
}

/**
 * Holds an answer back until it is stored, so that a client that received it and retries gets the same one. An answer that
 * exceeds `maxBytes`, or that streams, is stored without its body, and passes as it comes after that. It streams if its type
 * says so, if it is flushed before its end, or if it has not ended `STREAMS_AFTER_MS` after its first byte.
 *
 * To its handler the response behaves as if nothing held it. In particular nothing changes the head of an answer that has begun: a
 * `content-length` of another answer would break the answer.
 */
export function holdResponse(
  response: NodeResponse,
  maxBytes: number,
  claim: Ending,
  options: HoldOptions = {},
): void {
  new HeldResponse(response, maxBytes, claim, options).install()
}

class HeldResponse {
  readonly #response: NodeResponse
  readonly #maxBytes: number
  readonly #claim: Ending
  readonly #isKept: () => boolean
  readonly #before: ReadonlyMap<string, string>
  readonly #timer: Timer
  /** The methods that `install` replaces: Node's own, or those of middleware that ran before. */
  readonly #original

  /**
   * holding: nothing is stored or sent, and `write` collects bytes. storing: the claim has the answer and has not confirmed
   * it; still nothing is sent. passing: what was held is sent, and every call goes to the original method.
   */
  #state: 'holding' | 'storing' | 'passing' = 'holding'
  /** Set once the answer has begun. A status that the handler sets after that is ignored, as Node does. */
  #head: { status: number; message: string } | undefined
  #chunks: Uint8Array[] = []
  #bytes = 0
  #hasEnded = false
  #onFinished: Callback | undefined
  /** The last `write` returned false, so the handler waits for 'drain'. */
  #isDrainDue = false
  /** The handler has called `flush` of compression. */
  #isFlushDue = false
  /** The type of the answer says that it streams. */
  #streams = false
  /** Stops waiting for the end of an answer that has begun; undefined before its first byte. */
  #stopWaiting: (() => void) | undefined
  /** How many streams are piped into the response. */
  #sources = 0

  constructor(response: NodeResponse, maxBytes: number, claim: Ending, options: HoldOptions) {
    const { isKept = () => true, before = response.getHeaders(), timer = systemTimer } = options
    const { write, end, writeHead, flushHeaders, flush, destroy, _implicitHeader } = response
    const { setHeader, appendHeader, removeHeader } = response
    this.#original = {
      ...{ write, end, writeHead, flushHeaders, flush, destroy, _implicitHeader },
      ...{ setHeader, appendHeader, removeHeader },
    }
    this.#response = response
    this.#maxBytes = maxBytes
    this.#claim = claim
    this.#isKept = isKept
    this.#before = copyHeaders(Object.entries(before))
    this.#timer = timer
  }

  install(): void {
    const response = this.#response
    const { setHeader, appendHeader, removeHeader, flush } = this.#original
    Object.assign(response, {
      write: (...given: unknown[]) => this.#write(given),
      end: (...given: unknown[]) => this.#end(given),
      writeHead: (...given: HeadGiven) => this.#writeHead(given),
      flushHeaders: () => this.#flushHeaders(),
      ...(flush !== undefined && { flush: (...given: never[]) => this.#flush(given) }),
      destroy: (...given: [error?: Error]) => this.#destroy(given),
      _implicitHeader: () => this.#implicitHeader(),
      setHeader: this.#beforeHead('set', setHeader),
      appendHeader: this.#beforeHead('append', appendHeader),
      removeHeader: this.#beforeHead('remove', removeHeader),
    })
    this.#showAs('headersSent', () => this.#head !== undefined)
    this.#showAs('writableEnded', () => this.#hasEnded)
    response.on('pipe', () => this.#sources++)
    response.on('unpipe', () => this.#sources--)
    response.once('close', () => this.#close())
  }

  #write(given: unknown[]): boolean {
    if (this.#state === 'passing') return this.#original.write.apply(this.#response, given as never)
    const onWritten = callbackIn(given)
    if (this.#hasEnded) {
      failSoon(onWritten, 'ERR_STREAM_WRITE_AFTER_END')
      return false
    }
    // Converted first: an invalid chunk must throw before the answer begins.
    const chunk = toBytes(given[0], given[1])
    this.#begin()
    this.#collect(chunk)
    if (this.#state === 'holding') {
      if (this.#streams || this.#bytes > this.#maxBytes) this.#store(null)
      else if (this.#bytes > 0) this.#stopWaiting ??= this.#waitForEnd()
    }
    if (onWritten) process.nextTick(onWritten)
    this.#isDrainDue = this.#state === 'storing'
    return !this.#isDrainDue
  }

  #end(given: unknown[]): ServerResponse {
    if (this.#state === 'passing') return this.#original.end.apply(this.#response, given as never)
    const onFinished = callbackIn(given)
    if (this.#hasEnded) {
      failSoon(onFinished, 'ERR_STREAM_ALREADY_FINISHED')
      return this.#response
    }
    const [last, encoding] = given
    const chunk = last && last !== onFinished ? toBytes(last, encoding) : undefined
    this.#begin()
    if (chunk !== undefined) this.#collect(chunk)
    this.#hasEnded = true
    this.#onFinished = onFinished
    const isLost = this.#streams || this.#bytes > this.#maxBytes
    if (this.#state === 'holding') this.#store(isLost ? null : this.#body())
    return this.#response
  }

  /** @returns a function that stops it */
  #waitForEnd(): () => void {
    return this.#timer.after(STREAMS_AFTER_MS, () => {
      if (this.#state === 'holding') this.#store(null)
    })
  }

  #writeHead(given: HeadGiven): ServerResponse {
    const response = this.#response
    if (this.#state === 'passing') return this.#original.writeHead.apply(response, given as never)
    if (this.#head !== undefined) throw headSent('write')
    const [status, ...more] = given
    response.statusCode = checkStatus(status)
    if (typeof more[0] === 'string') response.statusMessage = more[0]
    for (const { name, value } of headersIn(more.at(-1))) response.setHeader(name, value)
    this.#head = { status: response.statusCode, message: response.statusMessage }
    this.#streams = isStreamType(response.getHeader('content-type'))
    return response
  }

  #flushHeaders(): void {
    if (this.#state === 'passing') {
      this.#original.flushHeaders.call(this.#response)
      return
    }
    this.#begin()
    if (this.#state === 'holding') this.#store(null)
  }

  #flush(given: never[]): unknown {
    if (this.#state === 'passing') return this.#original.flush?.apply(this.#response, given)
    this.#isFlushDue = true
    return this.#flushHeaders()
  }

  #destroy(given: [error?: Error]): ServerResponse {
    if (this.#state === 'holding') this.#release()
    return this.#original.destroy.apply(this.#response, given) as ServerResponse
  }

  #implicitHeader(): void {
    const { writeHead, _implicitHeader } = this.#original
    if (this.#state !== 'passing') this.#begin()
    // By the original, because middleware that replaced `writeHead` has already seen this head.
    else if (this.#head !== undefined) writeHead.call(this.#response, this.#head.status)
    else _implicitHeader?.call(this.#response)
  }

  /** The client has gone, or the response is complete. */
  #close(): void {
    if (this.#state !== 'holding') return
    // Node has unplugged the piped stream, so nothing will end the answer. A handler that calls `write` itself still may.
    if (this.#sources > 0) this.#release()
    else if (this.#head !== undefined) this.#claim.leave()
  }

  /** Calls `response.writeHead`, which middleware may have replaced to add headers when an answer begins. */
  #begin(): void {
    if (this.#head === undefined) this.#response.writeHead(this.#response.statusCode)
  }

  #collect(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.byteLength
  }

  #body(): Buffer {
    return Buffer.concat(this.#chunks, this.#bytes)
  }

  /** @param body null if it is not stored */
  #store(body: Uint8Array | null): void {
    this.#state = 'storing'
    this.#stopWaiting?.()
    const { status } = this.#head ?? { status: this.#response.statusCode }
    const headers = headersBehind(this.#before, Object.entries(this.#response.getHeaders()))
    const pass = () => this.#pass()
    void (this.#isKept() ? this.#claim.answered(status, headers, body) : this.#claim.release()).then(
      pass,
      pass,
    )
  }

  /** Frees the claim without an answer, so that a retry executes. */
  #release(): void {
    this.#state = 'passing'
    this.#stopWaiting?.()
    this.#chunks = []
    void this.#claim.release()
  }

  /** Sends what was held. */
  #pass(): void {
    const response = this.#response
    const { write, flushHeaders, destroy } = this.#original
    this.#state = 'passing'
    const body = this.#body()
    this.#chunks = []
    if (this.#head !== undefined) {
      response.statusCode = this.#head.status
      response.statusMessage = this.#head.message
    }
    try {
      if (this.#hasEnded) this.#endWith(body)
      else if (body.byteLength === 0) flushHeaders.call(response)
      // If this returns false, Node emits 'drain' itself.
      else if (write.call(response, body, 'utf8') && this.#isDrainDue) response.emit('drain')
      if (this.#isFlushDue) this.#original.flush?.call(response)
    } catch {
      // For example an invalid status message. The handler has returned and cannot catch it.
      destroy.call(response)
    }
  }

  #endWith(body: Buffer): void {
    if (body.byteLength > 0 && isBeyondAscii(this.#response)) {
      writeHeadFirst(this.#response, body.byteLength, this.#original)
    }
    const given = body.byteLength === 0 ? [this.#onFinished] : [body, this.#onFinished]
    this.#original.end.apply(this.#response, given.filter(each => each !== undefined) as never)
  }

  /** A method that changes headers, and throws as Node does once the answer has begun. */
  #beforeHead(change: string, method: (...given: never[]) => unknown) {
    return (...given: unknown[]): unknown => {
      if (this.#state !== 'passing' && this.#head !== undefined) throw headSent(change)
      return Reflect.apply(method, this.#response, given)
    }
  }

  /** Shows a property as the handler must see it, until Node's own value is right. */
  #showAs(name: 'headersSent' | 'writableEnded', value: () => boolean): void {
    const response = this.#response
    const prototype = Object.getPrototypeOf(response)
    Object.defineProperty(response, name, {
      get: () => (this.#state === 'passing' ? Reflect.get(prototype, name, response) : value()),
      configurable: true,
    })
  }
}
