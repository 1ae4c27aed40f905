import { joined } from '../runtime/bytes.ts'
import { ofNode } from '../runtime/of-node.ts'

/**
 * Removes the encoding of a body, because the client of a repetition may not accept it. Middleware in front of the claim encodes
 * again for that client.
 */

type Decoder = (bytes: Uint8Array, maxBytes: number) => Promise<Uint8Array>

/** The names that `DecompressionStream` gives to content codings. */
const formats: Readonly<Record<string, string>> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate' }

/**
 * @param encoding the `Content-Encoding`
 * @returns undefined if this runtime cannot read the encoding, or the body has more than `maxBytes`
 */
export async function plainBody(
  body: Uint8Array,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map(coding => coding.trim())
    .filter(coding => coding !== '' && coding !== 'identity')
  try {
    let bytes = body
    // The last one was applied last.
    for (const coding of codings.reverse()) bytes = await decoderOf(coding)(bytes, maxBytes)
    return bytes
  } catch {
    return undefined
  }
}

function decoderOf(coding: string): Decoder {
  if (coding === 'br') return unbrotli
  const format = formats[coding]
  if (format === undefined) throw new TypeError(`${coding} cannot be read`)
  return (bytes, maxBytes) =>
    drain(
      new Blob([bytes as Uint8Array<ArrayBuffer>])
        .stream()
        .pipeThrough(new DecompressionStream(format as 'gzip')),
      maxBytes,
    )
}

async function drain(stream: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joined(chunks, length)
    length += value.byteLength
    if (length > maxBytes) {
      void reader.cancel().catch(() => {})
      throw new RangeError('too large')
    }
    chunks.push(value)
  }
}

/** Only Node has this one in all versions that we support, and by name since 20.16. */
const unbrotli: Decoder = async (bytes, maxOutputLength) => {
  const zlib = ofNode(process => process.getBuiltinModule('node:zlib'))
  if (zlib === undefined) throw new TypeError('br cannot be read')
  return new Promise((resolve, reject) =>
    zlib.brotliDecompress(bytes, { maxOutputLength }, (error, plain) =>
      error ? reject(error) : resolve(plain),
    ),
  )
}
