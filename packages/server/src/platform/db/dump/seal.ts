import { createHash } from 'node:crypto'

/**
 * The end of a backup file: an empty gzip member whose extra field holds the SHA-256 of every byte before it.
 * Damage anywhere is detected, including the compressed bytes' own headers, and the file is still an ordinary
 * gzip file. RFC 1952, sections 2.2 and 2.3.
 */
const beforeDigest = Buffer.from([
  ...[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff], // deflate, FEXTRA, no time, no hint, system unknown
  ...[36, 0], // length of the extra field
  ...[0x4b, 0x52, 32, 0], // subfield KR, its length
])
/** A deflate stream of nothing, then its CRC-32 and its length. */
const afterDigest = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
const digestLength = 32

export const sealLength = beforeDigest.length + digestLength + afterDigest.length

/** The magic number of gzip, with which every backup begins. */
export const gzipMagic = Buffer.from([0x1f, 0x8b])

export const makeSeal = (digest: Buffer): Buffer => Buffer.concat([beforeDigest, digest, afterDigest])

/** Whether these bytes are a seal, with any digest. */
export const isSeal = (bytes: Buffer): boolean =>
  bytes.length === sealLength &&
  bytes.equals(makeSeal(bytes.subarray(beforeDigest.length, beforeDigest.length + digestLength)))

/** Facts about the file, known once all of it is written. */
export interface Sealed {
  bytes: number
  /** Hex, over the whole file, as `sha256sum` prints it. */
  sha256: string
}

/** Passes bytes through and adds the seal. */
export async function* seal(source: AsyncIterable<Buffer>, onSealed: (sealed: Sealed) => void) {
  const sha256 = createHash('sha256')
  let bytes = sealLength
  for await (const piece of source) {
    sha256.update(piece)
    bytes += piece.length
    yield piece
  }
  const end = makeSeal(sha256.copy().digest())
  yield end
  onSealed({ bytes, sha256: sha256.update(end).digest('hex') })
}

/** Passes everything but the seal through. @param onEnd gets the held-back end of the file: the seal, if there is one. */
export async function* withoutSeal(source: AsyncIterable<Buffer>, onEnd: (seal: Buffer) => void) {
  let held: Buffer = Buffer.alloc(0)
  for await (const piece of source) {
    const all = held.length === 0 ? piece : Buffer.concat([held, piece])
    const end = Math.max(all.length - sealLength, 0)
    if (end > 0) yield all.subarray(0, end)
    held = all.subarray(end)
  }
  onEnd(held)
}

/** Passes bytes through, and reports their size and digest at the end. */
export async function* measure(source: AsyncIterable<Buffer>, onMeasured: (measured: Sealed) => void) {
  const sha256 = createHash('sha256')
  let bytes = 0
  for await (const piece of source) {
    sha256.update(piece)
    bytes += piece.length
    yield piece
  }
  onMeasured({ bytes, sha256: sha256.digest('hex') })
}
