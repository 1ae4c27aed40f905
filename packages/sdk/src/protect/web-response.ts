import { copyHeaders, headersBehind, headersToReplay } from '../idempotency/exchange-headers.ts'
import {
  claimRequest,
  type IdempotentOptions,
  idempotencyHeader,
  type tooLarge,
} from '../idempotency/gate.ts'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import type { Idempotency } from '../idempotency/idempotent.ts'
import { isStreamType, STREAMS_AFTER_MS } from '../idempotency/outcome.ts'
import type { StoredAnswer } from '../idempotency/stored-answer.ts'
import { joined } from '../runtime/bytes.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import type { Valid } from '../verify/verdict.ts'
import type { Exchange, HttpAnswer } from './exchange.ts'
import { refusedBehind } from './passage.ts'

/** Responses of the Fetch API, for frameworks that are built on it. */

/** Statuses whose responses have no body, not even an empty one. */
const bodiless = new Set([204, 205, 304])

export const problemResponse = ({ status, headers, body }: HttpAnswer): Response =>
  new Response(JSON.stringify(body), { status, headers })

/** @param present the headers that middleware before the claim has set */
function replayResponse({ status, headers, body }: StoredAnswer, present: Headers): Response {
  const all = new Headers(present)
  // These headers describe another body.
  all.delete('content-type')
  for (const [name, value] of Object.entries(headersToReplay(headers, present.get('vary'))))
    all.set(name, value)
  const isEmpty = body.byteLength === 0 || bodiless.has(status)
  return new Response(isEmpty ? null : Uint8Array.from(body), { status, headers: all })
}

/** Copies the response, because the headers of a redirect or of a fetched response cannot be changed. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const added = Object.entries(headers)
  if (added.length === 0) return response
  const answer = new Response(response.body, response)
  for (const [name, value] of added) answer.headers.set(name, value)
  return answer
}

/**
 * Runs a handler at most once for an `Idempotency-Key`.
 *
 * @param isKept called after the handler: whether to keep its answer
 * @param readBody returns the bytes of the body without consuming it
 * @param presentHeaders called before the handler: what middleware before the claim has set. A replay has them
 * @param onReplay called before a replay is returned
 */
export async function runOnce(
  idempotency: Idempotency,
  request: Pick<Request, 'method' | 'url' | 'headers'>,
  {
    exchange,
    key,
    readBody,
    run,
    isKept = () => true,
    presentHeaders = () => new Headers(),
    onReplay = () => {},
    timer = systemTimer,
    ...options
  }: {
    exchange: Exchange
    key: Valid
    readBody: () => Promise<Uint8Array | typeof tooLarge>
    run: () => Promise<Response>
    isKept?: () => boolean
    presentHeaders?: () => Headers
    onReplay?: () => void
    timer?: Timer
  } & IdempotentOptions,
): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const idempotencyKey = request.headers.get(idempotencyHeader)
  const verdict = await claimRequest(idempotency, {
    exchange,
    key,
    method: request.method,
    target: pathname + search,
    // The Fetch API joins repeated headers like this.
    idempotencyKeys: idempotencyKey?.split(', ') ?? [],
    readBody,
    ...options,
  })
  if (verdict?.verdict === 'refuse') return problemResponse(refusedBehind(exchange, verdict.problem))
  if (verdict?.verdict === 'replay') {
    onReplay()
    return replayResponse(verdict.answer, presentHeaders())
  }
  if (verdict?.verdict !== 'execute') return run()
  const { claim } = verdict
  const before = copyHeaders(presentHeaders())
  try {
    const response = await run()
    const storing = { claim, maxBytes: idempotency.maxBodyBytes, before, timer }
    if (isKept()) return await store(response, storing)
    await claim.release()
    return response
  } catch (error) {
    await claim.release()
    throw error
  }
}

interface Storing {
  claim: HeldClaim
  maxBytes: number
  /** Names and values that were set before the claim. */
  before: ReadonlyMap<string, string>
  timer: Timer
}

/**
 * Returns the same answer after it is stored. A larger answer, and one that streams, is passed on while it comes, and is not
 * replayed. It streams if its type says so, or if it has not ended `STREAMS_AFTER_MS` after its first byte.
 */
async function store(response: Response, { claim, maxBytes, before, timer }: Storing): Promise<Response> {
  const { status, headers } = response
  const end = (body: Uint8Array | null) => claim.answered(status, headersBehind(before, headers), body)
  if (response.body === null) {
    await end(new Uint8Array())
    return response
  }
  if (isStreamType(headers.get('content-type'))) {
    await end(null)
    return response
  }
  const reader = response.body.getReader()
  let expire = (_late: 'late') => {}
  const late = new Promise<'late'>(resolve => {
    expire = resolve
  })
  let stopWaiting: (() => void) | undefined
  const chunks: Uint8Array[] = []
  let bytes = 0
  let next = reader.read()
  try {
    while (bytes <= maxBytes) {
      const read = await Promise.race([next, late])
      if (read === 'late') break
      if (read.done) {
        await end(joined(chunks, bytes))
        return new Response(streamOf(chunks, reader), response)
      }
      next = reader.read()
      chunks.push(read.value)
      bytes += read.value.byteLength
      if (bytes > 0) stopWaiting ??= timer.after(STREAMS_AFTER_MS, () => expire('late'))
    }
  } finally {
    stopWaiting?.()
  }
  // If the rest of the answer fails, the reader of the answer gets the error.
  next.catch(() => {})
  await end(null)
  return new Response(streamOf(chunks, reader, next), response)
}

/** @param next what the reader was asked for already */
function streamOf(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
  ...next: ReturnType<typeof reader.read>[]
): ReadableStream {
  const ahead = [...chunks.map(value => ({ value })), ...next]
  return new ReadableStream({
    async pull(controller) {
      const { value } = await (ahead.shift() ?? reader.read())
      if (value === undefined) controller.close()
      else controller.enqueue(value)
    },
    cancel: reason => reader.cancel(reason),
  })
}
