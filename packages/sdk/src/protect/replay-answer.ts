import type { ServerResponse } from 'node:http'
import { headersToReplay } from '../idempotency/exchange-headers.ts'
import type { StoredAnswer } from '../idempotency/stored-answer.ts'

/** Sends a stored answer, with the headers that middleware before the claim has set. */
export function replayAnswer(response: ServerResponse, { status, headers, body }: StoredAnswer): void {
  response.statusCode = status
  const all = headersToReplay(headers, response.getHeader('vary'))
  for (const [name, value] of Object.entries(all)) response.setHeader(name, value)
  if (body.byteLength === 0) {
    response.end()
    return
  }
  if (isBeyondAscii(response)) writeHeadFirst(response, body.byteLength)
  response.end(body)
}

/** Whether a header that is set has characters beyond ASCII. */
export const isBeyondAscii = (response: Pick<ServerResponse, 'getHeaders'>): boolean =>
  Object.values(response.getHeaders()).some(value => /[^\t\x20-\x7e]/.test(String(value)))

/**
 * Node spoils a `Content-Disposition` beyond ASCII if `end` writes the head together with the body, so the head is written
 * before.
 *
 * @param methods of the response, if others replaced them
 */
export function writeHeadFirst(
  response: ServerResponse,
  bytes: number,
  { setHeader, writeHead }: Pick<ServerResponse, 'setHeader' | 'writeHead'> = response,
): void {
  const status = response.statusCode
  const isFramed = response.hasHeader('content-length') || response.hasHeader('transfer-encoding')
  if (!isFramed && status !== 204 && status !== 304) setHeader.call(response, 'content-length', bytes)
  writeHead.call(response, status)
}
