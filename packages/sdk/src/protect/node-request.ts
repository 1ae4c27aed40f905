import type { IncomingMessage } from 'node:http'

/** The request of a framework on Node: the parsed body, and its bytes if they were kept. */
export interface ParsedRequest {
  body?: unknown
  rawBody?: unknown
  /** Set by parsers of Express 4 when they parse a body. */
  _body?: unknown
}

/** Every value of a header. Node's header object joins or drops repeated headers. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] as string)
  }
  return values
}

/**
 * The body for the fingerprint: its bytes if they were kept, otherwise what was parsed, as JSON. Undefined if no parser has
 * read it, or some parts of it are elsewhere.
 */
export function readParsedBody(
  { body, rawBody, _body }: ParsedRequest,
  { headers, readableEnded }: Pick<IncomingMessage, 'headers' | 'readableEnded'>,
): Uint8Array | string | undefined {
  for (const bytes of [rawBody, body]) {
    if (bytes instanceof Uint8Array || (typeof bytes === 'string' && bytes !== '')) return bytes
  }
  const isNothing = body === undefined || body === null || isEmptyObject(body)
  // HTTP/2 does not require a length.
  const isStated = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!isStated && isNothing) return ''
  const type = headers['content-type']?.toLowerCase() ?? ''
  if (!readableEnded || body === undefined || type.startsWith('multipart/')) return undefined
  // Parsers of Express 4 also set an empty object for bodies that they do not parse, but mark only those that they do.
  if (isEmptyObject(body) && _body !== true && !/json|urlencoded/.test(type)) return undefined
  return JSON.stringify(body) ?? ''
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
