import type { IncomingMessage } from 'node:http'

/** What frameworks on Node put beside the request: the body as it was parsed, and its bytes where they were kept. */
export interface ParsedRequest {
  body?: unknown
  rawBody?: unknown
  /** Of Express 4: a parser has taken the body. */
  _body?: unknown
}

/** Every value of a header that was sent. Node's own object joins or hides what was sent twice. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] as string)
  }
  return values
}

/**
 * The body as it counts for a fingerprint: its bytes where they were kept, else what was made of them. Undefined where
 * nobody knows: no parser has read it, or parts of it are elsewhere.
 */
export function readParsedBody(
  { body, rawBody, _body }: ParsedRequest,
  { headers, readableEnded }: Pick<IncomingMessage, 'headers' | 'readableEnded'>,
): Uint8Array | string | undefined {
  for (const bytes of [rawBody, body]) {
    if (bytes instanceof Uint8Array || (typeof bytes === 'string' && bytes !== '')) return bytes
  }
  const isNothing = body === undefined || body === null || isEmptyObject(body)
  // HTTP/2 need not state a length.
  const isStated = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!isStated && isNothing) return ''
  const type = headers['content-type']?.toLowerCase() ?? ''
  if (!readableEnded || body === undefined || type.startsWith('multipart/')) return undefined
  // Parsers of Express 4 leave an empty object also where they take nothing, and mark what they take.
  if (isEmptyObject(body) && _body !== true && !/json|urlencoded/.test(type)) return undefined
  return JSON.stringify(body) ?? ''
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
