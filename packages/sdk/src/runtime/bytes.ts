/**
 * Bytes and text. Uses `Buffer`, which is the fastest, and standard APIs on runtimes without it, such as workers.
 */
const { Buffer } = globalThis as { Buffer?: BufferConstructor }
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

export function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (Buffer) return Buffer.concat(chunks, length)
  const whole = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

export const textOf = (bytes: Uint8Array): string =>
  Buffer ? view(bytes).toString('utf8') : decoder.decode(bytes)

/** Standard base64, padded. */
export const toBase64 = (bytes: Uint8Array): string =>
  Buffer ? view(bytes).toString('base64') : btoa(latin1Of(bytes))

/** Undefined if the text is not base64; some runtimes ignore invalid characters instead. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (Buffer) return Buffer.from(text, 'base64')
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** The same memory as a Buffer. Wrapping a Buffer again would cost as much as the read itself. */
const view = (bytes: Uint8Array): Buffer =>
  Buffer && bytes instanceof Buffer
    ? bytes
    : (Buffer as BufferConstructor).from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** The number of arguments of a call is limited. */
const CHARACTERS_AT_ONCE = 8_192

function latin1Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHARACTERS_AT_ONCE)
    text += String.fromCharCode(...bytes.subarray(at, at + CHARACTERS_AT_ONCE))
  return text
}
