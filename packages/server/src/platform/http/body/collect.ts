import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../refusal.ts'
import { discard } from './discard.ts'
import { assertNotTooFine } from './pieces.ts'

/** The first and the largest block for a body, in bytes. Each block is twice as large as the one before. */
const blockMin = 4_096
const blockMax = 1_048_576

export interface CollectLimits {
  /** The most bytes that the route accepts. */
  readonly most: number
  /** Reserves memory for so many bytes in total, before they are copied; null: the body is small. */
  readonly hold: ((arrived: number) => void) | null
}

/**
 * Reads a whole body. Its pieces are copied into blocks as they come, because many small buffers would take several times
 * the memory of their bytes.
 */
export function collectBody(
  request: IncomingMessage,
  { most, hold }: CollectLimits,
  done: (error: unknown, bytes: Buffer) => void,
): void {
  const { 'content-length': length } = request.headers
  const announced = length === undefined ? null : Number(length)
  const blocks = new Blocks(announced ?? most)
  const stop = (error: unknown) => {
    request.off('data', take).off('end', finish).off('error', stop)
    done(error, none)
  }
  const take = (piece: Buffer) => {
    const arrived = blocks.bytes + piece.length
    try {
      if (arrived > most) throw new Refusal('payload_too_large')
      hold?.(arrived)
      blocks.add(piece)
    } catch (error) {
      stop(error)
    } finally {
      // For a small body, freeing the bytes at once is not worth the time.
      if (hold !== null) discard(piece)
    }
  }
  const finish = () => {
    request.off('data', take).off('end', finish).off('error', stop)
    // Node's parser enforces the length, but not for a request that a test injects.
    if (announced !== null && blocks.bytes !== announced) done(new Refusal('malformed_request'), none)
    else done(null, blocks.join())
  }
  try {
    assertNotTooFine(request)
  } catch (error) {
    done(error, none)
    return
  }
  request.on('data', take).on('end', finish).on('error', stop)
}

const none = Buffer.alloc(0)

/** Bytes in blocks that grow with the bytes that have arrived: a length that is only announced takes no memory. */
class Blocks {
  /** Bytes so far. */
  bytes = 0
  readonly #most: number
  readonly #blocks: Buffer[] = []
  /** Free bytes of the last block. */
  #free = 0

  /** @param most the largest expected number of bytes. */
  constructor(most: number) {
    this.#most = most
  }

  add(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (this.#free === 0) this.#grow(piece.length - at)
      const block = this.#blocks.at(-1) as Buffer
      const copied = piece.copy(block, block.length - this.#free, at)
      this.#free -= copied
      this.bytes += copied
      at += copied
    }
  }

  #grow(needed: number): void {
    const { length: before = blockMin / 2 } = this.#blocks.at(-1) ?? {}
    const left = Math.max(this.#most - this.bytes, needed)
    const block = Buffer.allocUnsafe(Math.min(left, Math.max(needed, Math.min(before * 2, blockMax))))
    this.#blocks.push(block)
    this.#free = block.length
  }

  join(): Buffer {
    const [only] = this.#blocks
    if (this.#blocks.length === 1 && only?.length === this.bytes) return only
    return Buffer.concat(this.#blocks, this.bytes)
  }
}
