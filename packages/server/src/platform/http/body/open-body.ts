import { promisify } from 'node:util'
import { brotliCompress, crc32, gzip, constants as zlib } from 'node:zlib'
import { type Encoding, encodingOf, leastEncodedBytes, levels } from './shared-body.ts'

/** The largest end: its length has 16 bits. Ends have a few dozen bytes. */
const endBytesMax = 65_535

/** The bytes of an answer, in the order in which they are sent. The first part is the same object for many answers. */
export class EndedBody {
  readonly start: Buffer
  readonly end: Buffer

  constructor(start: Buffer, end: Buffer) {
    this.start = start
    this.end = end
  }

  get bytes(): number {
    return this.start.length + this.end.length
  }
}

/**
 * A body that many callers share except for its end, which every answer writes anew. The start is compressed once for each
 * encoding, up to a whole byte; the end follows as an uncompressed block. RFC 1951 §3.2.4, RFC 7932 §9.2.
 */
export class OpenBody {
  readonly #start: Buffer
  readonly #forms = new Map<Encoding, Promise<Buffer>>()
  #sum: number | undefined

  constructor(start: string) {
    this.#start = Buffer.from(start)
  }

  get bytes(): number {
    return this.#start.length
  }

  /** @param accepted the request's `Accept-Encoding` */
  async encoded(accepted: string | undefined, end: string): Promise<{ body: EndedBody; encoding: Encoding }> {
    const last = Buffer.from(end)
    if (last.length > endBytesMax) throw new RangeError('The end of a body is too long')
    const encoding = this.bytes < leastEncodedBytes ? 'identity' : encodingOf(accepted)
    if (encoding === 'identity') return { body: new EndedBody(this.#start, last), encoding }
    let form = this.#forms.get(encoding)
    if (form === undefined) {
      form = compressOpen(this.#start, encoding)
      this.#forms.set(encoding, form)
      form.catch(() => this.#forms.delete(encoding))
    }
    const start = await form
    const closing = encoding === 'br' ? endOfBrotli(last) : this.#endOfGzip(last)
    return { body: new EndedBody(start, closing), encoding }
  }

  #endOfGzip(end: Buffer): Buffer {
    this.#sum ??= crc32(this.#start)
    const head = Buffer.alloc(5)
    head.writeUInt8(1, 0)
    head.writeUInt16LE(end.length, 1)
    head.writeUInt16LE(~end.length & 0xffff, 3)
    const trailer = Buffer.alloc(8)
    trailer.writeUInt32LE(crc32(end, this.#sum), 0)
    trailer.writeUInt32LE((this.#start.length + end.length) % 2 ** 32, 4)
    return Buffer.concat([head, end, trailer])
  }
}

function endOfBrotli(end: Buffer): Buffer {
  const head = Buffer.alloc(3)
  // Not the last block, a length of four nibbles less one, not compressed; then the last block, which is empty.
  head.writeUIntLE(((end.length - 1) << 3) | (1 << 19), 0, 3)
  return Buffer.concat([head, end, Buffer.of(3)])
}

const compressOpen = (start: Buffer, encoding: Exclude<Encoding, 'identity'>): Promise<Buffer> =>
  encoding === 'br'
    ? promisify(brotliCompress)(start, {
        params: { [zlib.BROTLI_PARAM_QUALITY]: levels.quick.brotli },
        finishFlush: zlib.BROTLI_OPERATION_FLUSH,
      })
    : promisify(gzip)(start, { level: levels.quick.gzip, finishFlush: zlib.Z_SYNC_FLUSH })
