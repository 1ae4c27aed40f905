import type { IncomingMessage } from 'node:http'

/** What frameworks on Node put beside the request: the body as it was parsed, and its bytes where they were kept. */
export interface ParsedRequest {
  body?: unknown
  rawBody?: unknown
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
 * The body as it counts for a fingerprint: its bytes where they were kept, else what was made of them.
 *
 * @throws TypeError when there is a body that nobody has read, or of which parts are elsewhere
 */
export function readParsedBody(
  { body, rawBody }: ParsedRequest,
  { headers }: Pick<IncomingMessage, 'headers'>,
): Uint8Array | string {
  for (const bytes of [rawBody, body]) {
    if (bytes instanceof Uint8Array || (typeof bytes === 'string' && bytes !== '')) return bytes
  }
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) return ''
  if (headers['content-type']?.startsWith('multipart/')) {
    throw new TypeError('idempotency of multipart bodies needs their bytes as rawBody')
  }
  if (body === undefined) throw new TypeError('idempotency stands behind what parses the body')
  return JSON.stringify(body) ?? ''
}
