import { claimRequest, type IdempotentOptions, idempotencyHeader } from '../idempotency/gate.ts'
import type { HeldClaim } from '../idempotency/held-claim.ts'
import type { Idempotency } from '../idempotency/idempotent.ts'
import type { StoredAnswer } from '../idempotency/stored-answer.ts'
import { joined } from '../runtime/bytes.ts'
import type { Valid } from '../verify/verdict.ts'
import { type HttpAnswer, refusedBehind } from './passage.ts'

/** Responses of the Fetch API, for frameworks that are built on it. */

/** Statuses whose responses have no body, not even an empty one. */
const bodiless = new Set([204, 205, 304])

export const problemResponse = ({ status, headers, body }: HttpAnswer): Response =>
  new Response(JSON.stringify(body), { status, headers })

const replayResponse = ({ status, headers, body }: StoredAnswer): Response =>
  new Response(bodiless.has(status) ? null : Uint8Array.from(body), { status, headers })

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
    // The Fetch API joins repeated headers like this.
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

/** Returns the same answer after it is stored. A larger answer is passed on while it comes, and is not replayed. */
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
