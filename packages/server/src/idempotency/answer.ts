import type { CompleteBody } from '@keyrail/contract/idempotency'
import { invalidField } from '../platform/refusal.ts'

/** The answer of a request that was executed, as it is stored. */
export interface Completion {
  readonly status: number
  /** Null: as long as the claim asked for. */
  readonly ttlMs: number | null
  /** JSON. */
  readonly headers: string
  /** Null: not kept. */
  readonly body: Uint8Array | null
  /** Of headers and body; null: not kept. */
  readonly bytes: number | null
}

/**
 * Reads what is to be replayed some day, as strictly as whoever will send it.
 * @throws {Refusal} `validation_failed` naming the header, or the body.
 */
export function readCompletion({ status, headers = {}, body = null, ttl_ms }: CompleteBody): Completion {
  assertHeaders(headers)
  const bytes = body === null ? null : decodeBase64(body)
  // Of an answer that is not kept neither are its headers, and megabytes of them would ride with others for nothing.
  const text = bytes === null ? '{}' : JSON.stringify(headers)
  return {
    status,
    ttlMs: ttl_ms ?? null,
    headers: text,
    body: bytes,
    bytes: bytes === null ? null : Buffer.byteLength(text) + bytes.length,
  }
}

/** What is left of an answer that cannot be kept: it is never replayed. */
export const withoutBody = (completion: Completion): Completion => ({
  ...completion,
  headers: '{}',
  body: null,
  bytes: null,
})

/** RFC 9110 §5.6.2: what a field may be called. */
const fieldName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function assertHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!fieldName.test(name)) throw invalidField(`headers.${name}`, 'must be named as a header can be')
    if (/[\r\n\0]/.test(value)) throw invalidField(`headers.${name}`, 'must not contain CR, LF or NUL')
  }
}

/**
 * Decodes base64 that has one way to be written: with padding, without white space, no bit set that means nothing.
 *
 * The decoder passes over what is no base64, so that anything odd makes fewer bytes than the length of the text says. It
 * takes the letters of base64url too, and bits that mean nothing can only be in the last four letters.
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
