/**
 * A page that every node must receive alike. The node that is ahead fills it; the bytes of the others are compared with
 * it as they arrive (15 GB/s, where a CRC-32 does 2.7 and a SHA-256 one).
 */
export class FleetPage {
  #bytes = Buffer.alloc(1 << 20)
  #filled = 0
  #differing = 0
  readonly #lengths = new Set<number>()

  take(piece: Buffer, offset: number): void {
    const end = offset + piece.length
    const known = Math.max(0, Math.min(piece.length, this.#filled - offset))
    if (piece.compare(this.#bytes, offset, offset + known, 0, known) !== 0) this.#differing++
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

  /** Whether every node received the same bytes. */
  get isOne(): boolean {
    return this.#differing === 0 && this.#lengths.size === 1 && this.#lengths.has(this.#filled)
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
