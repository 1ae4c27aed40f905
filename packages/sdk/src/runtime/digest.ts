import { fromBase64, joined, toBase64 } from './bytes.ts'
import { ofNode } from './of-node.ts'
import { sha256 } from './sha256.ts'

/** Node exposes it since 20.16. */
const hash = ofNode(process => process.getBuiltinModule('node:crypto').hash)
const { Buffer } = globalThis as { Buffer?: BufferConstructor }
const encoder = new TextEncoder()

/** The types allow only encodings for text; the others work too. */
const TWO_BYTES = 'utf16le' as 'binary'

/**
 * SHA-256 of a whole key as 16 characters of two bytes each, which is the cheapest form to make and to read. Not readable
 * text.
 */
export const digestOf: (key: string) => string =
  hash && Buffer ? key => hash('sha256', key, TWO_BYTES) : key => packed(sha256(encoder.encode(key)))

/** The four bytes at `4 * at` of a digest, little-endian. */
export const digestWord = (digest: string, at: number): number =>
  digest.charCodeAt(2 * at) | (digest.charCodeAt(2 * at + 1) << 16)

/** Converts a `lookup_hash` of the feed (padded base64, 44 characters) to the form of `digestOf`; undefined if it is invalid. */
export function digestFromBase64(text: string): string | undefined {
  const bytes = fromBase64(text)
  // Decoders may ignore invalid characters, so only a text that encodes to itself is valid.
  return bytes?.length === 32 && toBase64(bytes) === text ? packed(bytes) : undefined
}

/** Converts the form of `digestOf` to that of a `lookup_hash`. */
export function digestToBase64(digest: string): string {
  const bytes = new Uint8Array(2 * digest.length)
  for (let at = 0; at < digest.length; at++) {
    bytes[2 * at] = digest.charCodeAt(at) & 0xff
    bytes[2 * at + 1] = digest.charCodeAt(at) >>> 8
  }
  return toBase64(bytes)
}

/** SHA-256 of the concatenated pieces in hexadecimal. */
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
