import { DumpRefused } from './refused.ts'

const lineFeed = Buffer.from('\n')
/** The line `\.`, with the line feed before it. */
const endOfSection = Buffer.from('\n\\.\n')

/** Reads the text of a backup: header and statements by line, rows in pieces. */
export class DumpReader {
  #pieces: AsyncIterator<Buffer>
  /** Bytes that have been read from the file and not returned yet. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** One line without its line feed. */
  async line(bytesMax: number): Promise<string> {
    for (;;) {
      const at = this.#rest.indexOf(lineFeed)
      if (at !== -1) {
        const line = this.#rest.subarray(0, at).toString()
        this.#rest = this.#rest.subarray(at + 1)
        return line
      }
      if (this.#rest.length > bytesMax) throw new DumpRefused('This is not a Keyrail backup.')
      this.#rest = Buffer.concat([this.#rest, await this.#next()])
    }
  }

  /** The rows up to the line `\.`, which is consumed too. A row may be longer than a piece. */
  async *rows(): AsyncGenerator<Buffer> {
    // Begins as if a line feed had just been read, so that an empty section ends like any other.
    let held = Buffer.concat([lineFeed, this.#rest])
    let given = 1
    for (;;) {
      const at = held.indexOf(endOfSection)
      if (at !== -1) {
        this.#rest = held.subarray(at + endOfSection.length)
        if (at + 1 > given) yield held.subarray(given, at + 1)
        return
      }
      // The end marker may span two pieces, so as many bytes as it has, less one, are held back.
      const safe = held.length - (endOfSection.length - 1)
      if (safe > given) {
        yield held.subarray(given, safe)
        held = held.subarray(safe)
        given = 0
      }
      held = Buffer.concat([held, await this.#next()])
    }
  }

  /** @throws if there are more bytes. */
  async end(): Promise<void> {
    const { done } = this.#rest.length > 0 ? { done: false } : await this.#pieces.next()
    if (!done) throw new Error('the backup continues after its last table')
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#pieces.next()
    if (done) throw new Error('the backup ends before the end of its last table')
    return value
  }
}
