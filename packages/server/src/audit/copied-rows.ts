import type { ChainRow } from './chain.ts'

/** A row of the chain. Its texts and hashes have one character per byte, as `ChainVerifier` takes them. */
export interface CopiedRow extends ChainRow {
  prevHash: string
  hash: string
}

/**
 * Parses rows of the chain from `COPY … (FORMAT binary)` with the columns of `chainCopy`. A driver spends most of its time
 * per row on making strings; here each row becomes one string, and the fields are substrings of it.
 *
 * The format (PostgreSQL manual, COPY, Binary Format): a header of 19 bytes; then each row as the number of its fields,
 * and each field as its length and that many bytes, -1 for null; all numbers are big-endian.
 */
export class CopiedRows {
  readonly #workspaceId: string
  readonly #times = new Times()
  /** Start and length of each field of the current row. */
  readonly #starts = new Int32Array(fields)
  readonly #lengths = new Int32Array(fields)
  #rest: Buffer = Buffer.alloc(0)
  #skip = headerBytes

  constructor(workspaceId: string) {
    this.#workspaceId = workspaceId
  }

  /**
   * Parses the rows that end in this chunk and keeps the rest for the next chunk.
   * @returns false as soon as `take` does.
   */
  read(chunk: Buffer, take: (row: CopiedRow) => boolean): boolean {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let at = this.#skip
    for (let end = this.#findRow(bytes, at); end !== 0; end = this.#findRow(bytes, at)) {
      if (!take(this.#row(bytes, at, end))) return false
      at = end
    }
    this.#skip = Math.max(at - bytes.length, 0)
    this.#rest = bytes.subarray(at)
    return true
  }

  /** @returns the end of the row; 0 when it is incomplete, and at the trailer, whose count is -1. */
  #findRow(bytes: Buffer, start: number): number {
    if (start + countBytes > bytes.length || bytes.readInt16BE(start) !== fields) return 0
    let at = start + countBytes
    for (let field = 0; field < fields; field++) {
      if (at + lengthBytes > bytes.length) return 0
      const length = bytes.readInt32BE(at)
      at += lengthBytes
      this.#starts[field] = at
      this.#lengths[field] = length
      if (length > 0) at += length
    }
    return at > bytes.length ? 0 : at
  }

  #row(bytes: Buffer, start: number, end: number): CopiedRow {
    const row = bytes.toString('latin1', start, end)
    const at = (field: number) => this.#starts[field] as number
    const lengthOf = (field: number) => this.#lengths[field] as number
    const text = (field: number) => row.slice(at(field) - start, at(field) - start + lengthOf(field))
    const textOrNull = (field: number) => (lengthOf(field) === -1 ? null : text(field))
    return {
      seq: readInt64(bytes, at(0)),
      workspaceId: this.#workspaceId,
      action: text(1),
      actorType: text(2),
      actorId: textOrNull(3),
      targetType: text(4),
      targetId: uuidAt(bytes, at(5)),
      env: textOrNull(6),
      payload: text(7),
      createdAt: this.#times.at(bytes, at(8)),
      prevHash: text(9),
      hash: text(10),
    }
  }
}

const headerBytes = 19
const countBytes = 2
const lengthBytes = 4
const fields = 11

/** Exact to 2^53. A larger value cannot be a seq of a chain, and need not be exact to prove that. */
const readInt64 = (bytes: Buffer, at: number) => bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)

function uuidAt(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Microseconds from 1970 to 2000, the epoch of Postgres. */
const epochMicros = 946_684_800_000_000

/** Times as RFC 3339 to the millisecond. Adjacent rows mostly share the second, so its text is cached. */
class Times {
  #second = Number.NaN
  #text = ''

  /** A time without an exact text (infinity, or a finer one) becomes a text that no row can have been hashed with. */
  at(bytes: Buffer, at: number): string {
    let micros: number | bigint = readInt64(bytes, at) + epochMicros
    let millis = micros / 1000
    if (!Number.isSafeInteger(micros)) {
      // From the year 2255 on.
      micros = bytes.readBigInt64BE(at) + BigInt(epochMicros)
      millis = micros % 1000n === 0n ? Number(micros / 1000n) : Number.NaN
    }
    if (!Number.isSafeInteger(millis)) return `${micros} us`
    const second = Math.floor(millis / 1000)
    if (second !== this.#second) {
      const date = new Date(second * 1000)
      if (Number.isNaN(date.getTime())) return `${micros} us`
      this.#second = second
      this.#text = date.toISOString().slice(0, -'000Z'.length)
    }
    const fraction = millis - second * 1000
    return `${this.#text}${fraction < 10 ? '00' : fraction < 100 ? '0' : ''}${fraction}Z`
  }
}
