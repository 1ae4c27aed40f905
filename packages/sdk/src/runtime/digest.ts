import { fromBase64, joined, toBase64 } from './bytes.ts'
import { ofNode } from './of-node.ts'
import { sha256 } from './sha256.ts'

/** Node hands it out from 20.16 on. */
const hash = ofNode(process => process.getBuiltinModule('node:crypto').hash)
const { Buffer } = globalThis as { Buffer?: BufferConstructor }
const encoder = new TextEncoder()

/** Types know only the encodings that are fit for text; the others work as well. */
const TWO_BYTES = 'utf16le' as 'binary'

/**
 * SHA-256 of a whole key, as 16 characters of two bytes each: the form that costs least to make and to read. It
 * is no text.
 */
export const digestOf: (key: string) => string =
  hash && Buffer ? key => hash('sha256', key, TWO_BYTES) : key => packed(sha256(encoder.encode(key)))

/** The four bytes at `4 * at` of a digest, little-endian. */
export const digestWord = (digest: string, at: number): number =>
  digest.charCodeAt(2 * at) | (digest.charCodeAt(2 * at + 1) << 16)

/** A `lookup_hash` of the feed (standard base64, 44 characters) in the form of `digestOf`; undefined if it is none. */
export function digestFromBase64(text: string): string | undefined {
  const bytes = fromBase64(text)
  // What is not base64 may be passed over, so only a text that comes out again the same was well formed.
  return bytes?.length === 32 && toBase64(bytes) === text ? packed(bytes) : undefined
}

/** SHA-256 of all pieces, one behind the other, in hexadecimal. */
export function hexDigestOf(pieces: readonly Uint8Array[]): string {
  const whole = joined(
    pieces,
    pieces.reduce((length, piece) => length + piece.byteLength, 0),
  )
  if (hash) return hash('sha256', whole, 'hex')
  return Array.from(sha256(whole), byte => byte.toString(16).padStart(2, '0')).join('')
}

function packed(bytes: Uint8Array): string {
  if (Buffer && bytes instanceof Buffer) return bytes.toString(TWO_BYTES)
  const pair = (at: number) => (bytes[2 * at] as number) | ((bytes[2 * at + 1] as number) << 8)
  return String.fromCharCode(...Array.from({ length: bytes.length / 2 }, (_, at) => pair(at)))
}
