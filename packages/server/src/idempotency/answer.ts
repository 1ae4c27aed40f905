import type { CompleteBody } from '@keyrail/contract/idempotency'
import { invalidField } from '../platform/refusal.ts'

/** The answer of a request that was executed, as it is stored. */
export interface Completion {
  readonly status: number
  /** Null: the answer lives as long as the claim asked for. */
  readonly ttlMs: number | null
  /** JSON. */
  readonly headers: string
  /** Null: the answer is not kept. */
  readonly body: Uint8Array | null
  /** The size of headers and body together; null: the answer is not kept. */
  readonly bytes: number | null
}

/**
 * Reads an answer that may be replayed, as strictly as the HTTP server that will send it.
 * @throws {Refusal} `validation_failed` naming the header, or the body.
 */
export function readCompletion({ status, headers = {}, body = null, ttl_ms }: CompleteBody): Completion {
  assertHeaders(headers)
  const bytes = body === null ? null : decodeBase64(body)
  // Without its body an answer is not kept, and its headers would make the batch larger for nothing.
  const text = bytes === null ? '{}' : JSON.stringify(headers)
  return {
    status,
    ttlMs: ttl_ms ?? null,
    headers: text,
    body: bytes,
    bytes: bytes === null ? null : Buffer.byteLength(text) + bytes.length,
  }
}

/** The completion without the answer, which is then never replayed. */
export const withoutBody = (completion: Completion): Completion => ({
  ...completion,
  headers: '{}',
  body: null,
  bytes: null,
})

/** RFC 9110 §5.6.2: the name of a field. */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function assertHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!fieldName.test(name)) throw invalidField(`headers.${name}`, 'must be a valid header name')
    if (/[\r\n\0]/.test(value)) throw invalidField(`headers.${name}`, 'must not contain CR, LF or NUL')
  }
}

/**
 * Decodes canonical base64: with padding, without white space, and with unused bits zero.
 *
 * The decoder skips characters that are not base64, so a text with such characters decodes to fewer bytes than its length
 * promises. It also takes the characters of base64url, which are rejected here. Unused bits can only be in the last four
 * characters, which are compared with their own encoding.
 */
function decodeBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const isExact =
    text.length % 4 === 0 &&
    bytes.length === (text.length / 4) * 3 - padding &&
    !text.includes('-') &&
    !text.includes('_') &&
    bytes.toString('base64', Math.max(0, bytes.length - (3 - padding))) === text.slice(-4)
  if (!isExact) throw invalidField('body', 'must be base64 with its padding')
  return bytes
}
