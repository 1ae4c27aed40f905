import crypto from 'node:crypto'

/**
 * SHA-256 of a whole key, as 32 characters of one byte each (`binary`): the form that costs least to make and
 * to read. `crypto.hash` takes a third of the time of `createHash`; Node 20 has it from 20.12 on.
 */
export const digestOf: (text: string) => string =
  typeof crypto.hash === 'function'
    ? text => crypto.hash('sha256', text, 'binary')
    : text => crypto.createHash('sha256').update(text).digest('binary')

/** A `lookup_hash` of the feed (standard base64, 44 characters) in the form of `digestOf`; undefined if it is none. */
export function digestFromBase64(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64')
  // Node skips what is not base64, so only a text that comes out again the same was well formed.
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes.toString('latin1') : undefined
}
