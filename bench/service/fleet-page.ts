/**
 * A page that every node must receive alike, but for its last bytes, which every answer has anew. The node that is ahead fills it; the bytes of the others are compared with
 * it as they arrive (15 GB/s, where a CRC-32 does 2.7 and a SHA-256 one).
 */
export class FleetPage {
  #bytes = Buffer.alloc(1 << 20)
  #filled = 0
  /** Where the first byte is that nodes received differently. */
  #differsAt = Number.POSITIVE_INFINITY
  readonly #lengths = new Set<number>()
  readonly #ownBytes: number

  /** @param ownBytes how many bytes at the end each answer has for itself */
  constructor(ownBytes = 0) {
    this.#ownBytes = ownBytes
  }

  take(piece: Buffer, offset: number): void {
    const end = offset + piece.length
    const known = Math.max(0, Math.min(piece.length, this.#filled - offset))
    if (piece.compare(this.#bytes, offset, offset + known, 0, known) !== 0) {
      const at = piece.subarray(0, known).findIndex((byte, i) => byte !== this.#bytes[offset + i])
      this.#differsAt = Math.min(this.#differsAt, offset + at)
    }
    if (end <= this.#filled) return
    if (end > this.#bytes.length) {
      const more = Buffer.alloc(Math.max(end, this.#bytes.length * 2))
      this.#bytes.copy(more, 0, 0, this.#filled)
      this.#bytes = more
    }
    piece.copy(this.#bytes, this.#filled, known)
    this.#filled = end
  }

  /** Notes that a node has its page, with that many bytes. */
  end(bytes: number): void {
    this.#lengths.add(bytes)
  }

  /** Whether every node received the same bytes, but for those at the end. */
  get isOne(): boolean {
    return (
      this.#differsAt >= this.#filled - this.#ownBytes &&
      this.#lengths.size === 1 &&
      this.#lengths.has(this.#filled)
    )
  }

  get bytes(): number {
    return this.#filled
  }

  text(): string {
    return this.#bytes.toString('utf8', 0, this.#filled)
  }

  /** Null without a cursor. The cursor precedes the keys, as a page may take megabytes. */
  nextCursor(): string | null {
    const head = this.#bytes.toString('utf8', 0, Math.min(this.#filled, 2_048))
    return /"next_cursor":"([^"]+)"/.exec(head)?.[1] ?? null
  }
}
