import { claimRequest, type IdempotentOptions, idempotencyHeader } from '../idempotency/gate.ts'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import type { Idempotency } from '../idempotency/idempotent.ts'
import type { StoredAnswer } from '../idempotency/stored-answer.ts'
import { joined } from '../runtime/bytes.ts'
import type { Valid } from '../verify/verdict.ts'
import { type HttpAnswer, refusedBehind } from './passage.ts'

/** Answers of the Fetch API, for the frameworks that are built on it. */

/** A response with one of these has no body, not even an empty one. */
const bodiless = new Set([204, 205, 304])

export const problemResponse = ({ status, headers, body }: HttpAnswer): Response =>
  new Response(JSON.stringify(body), { status, headers })

const replayResponse = ({ status, headers, body }: StoredAnswer): Response =>
  new Response(bodiless.has(status) ? null : Uint8Array.from(body), { status, headers })

/** The headers of some responses cannot be changed: a redirect's, or one that was fetched. */
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
 * @param isKept asked once it has run: whether its answer is that of a handler
 * @param readBody the bytes of the body, so that the handler can read it too
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
    ...options
  }: {
    exchange: object
    key: Valid
    readBody: () => Promise<Uint8Array>
    run: () => Promise<Response>
    isKept?: () => boolean
  } & IdempotentOptions,
): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const idempotencyKey = request.headers.get(idempotencyHeader)
  const verdict = await claimRequest(idempotency, {
    exchange,
    key,
    method: request.method,
    target: pathname + search,
    // A key that was sent twice is told as one, joined like this.
    idempotencyKeys: idempotencyKey?.split(', ') ?? [],
    readBody,
    ...options,
  })
  if (verdict?.verdict === 'refuse') return problemResponse(refusedBehind(exchange, verdict.problem))
  if (verdict?.verdict === 'replay') return replayResponse(verdict.answer)
  if (verdict?.verdict !== 'execute') return run()
  const { claim } = verdict
  try {
    const response = await run()
    if (isKept()) return await store(claim, response, idempotency.maxBodyBytes)
    await claim.release()
    return response
  } catch (error) {
    await claim.release()
    throw error
  }
}

/** The same answer, once it is stored; what is too large goes on as it comes, and is not replayed. */
async function store(claim: HeldClaim, response: Response, maxBytes: number): Promise<Response> {
  const { status, headers } = response
  if (response.body === null) {
    await claim.answered(status, headers, new Uint8Array())
    return response
  }
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  let ended = false
  while (!ended && bytes <= maxBytes) {
    const { done, value } = await reader.read()
    ended = done
    if (value === undefined) continue
    chunks.push(value)
    bytes += value.byteLength
  }
  await claim.answered(status, headers, ended ? joined(chunks, bytes) : null)
  return new Response(streamOf(chunks, reader), response)
}

function streamOf(chunks: Uint8Array[], reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      const chunk = chunks.shift() ?? (await reader.read()).value
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
    cancel: reason => reader.cancel(reason),
  })
}
