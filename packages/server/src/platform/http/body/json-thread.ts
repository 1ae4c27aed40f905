import type { ErrorCode, FieldFault } from '@keyrail/contract/errors'
import type { Piscina } from 'piscina'
import { FairQueue } from '../../concurrency/fair-queue.ts'
import { openThreadPool } from '../../concurrency/thread-pool.ts'
import type { Logger } from '../../observe/log.ts'
import { Refusal } from '../../refusal.ts'

/**
 * How many texts of one sender may wait for the thread. `large-bodies.ts` limits the bytes of the texts; this limits how long
 * the last one waits. The thread always has the next text ready, and at most one per sender.
 */
const limits = { places: 2, placesOfOne: 1, waitingOfOne: 64 }
/** Starting a thread takes 60 ms, so an idle thread is kept this long for the next body, in ms. */
const idleMs = 30_000
/** The thread's heap in MiB: several times the size of the largest body once parsed. */
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

/** A request to the thread. */
export interface Question {
  readonly bytes: Uint8Array
  readonly isOdd: boolean
  /** The module of a `BodyReader`, which validates the value and turns it into the reply; null: the value itself. */
  readonly reader: string | null
}
/** A refusal as plain values: an error loses its class on its way between threads. */
export type Reply =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly detail: string; readonly faults: readonly FieldFault[] }

/**
 * Reads large JSON in another thread than the one that serves requests. The bytes are transferred: the caller cannot use them
 * any more. Senders take turns.
 */
export interface JsonThread {
  /**
   * As `parseJson`, followed by the reader, whose buffers arrive as `Uint8Array`.
   * @param reader the module of a `BodyReader`.
   * @throws {Refusal} as `parseJson` and the reader, and `unavailable` if too many texts of this sender wait already.
   */
  parse(bytes: Uint8Array, sender: string, reader?: string | null): Promise<unknown>
  /** As `parseOddJson`. @throws {Refusal} `unavailable` too, if too many texts of this sender wait already. */
  parseOdd(bytes: Uint8Array, sender: string): Promise<unknown>
  close(): Promise<void>
}

export function openJsonThread(log: Pick<Logger, 'error'>): JsonThread {
  const pool = openThreadPool(openThread, err =>
    log.error({ err }, 'the thread that reads large bodies failed'),
  )
  const queue = new FairQueue(limits)

  const ask = async (sender: string, { bytes, ...how }: Question): Promise<unknown> => {
    const turn = queue.take(sender)
    if (turn === null) throw unavailable()
    let reply: Reply
    try {
      if (turn.come !== null) await turn.come
      const opened = await pool.threads()
      const own = ownBuffer(bytes)
      reply = await opened.run({ bytes: own, ...how } satisfies Question, {
        name: 'read',
        transferList: [own.buffer],
      })
    } catch (cause) {
      throw unavailable(cause)
    } finally {
      turn.end()
    }
    if ('value' in reply) return reply.value
    throw new Refusal(reply.code, reply.detail, { faults: [...reply.faults] })
  }

  return {
    parse: (bytes, sender, reader = null) => ask(sender, { bytes, isOdd: false, reader }),
    parseOdd: (bytes, sender) => ask(sender, { bytes, isOdd: true, reader: null }),
    close: pool.close,
  }
}

const unavailable = (cause?: unknown) =>
  new Refusal('unavailable', '', { cause, headers: { 'retry-after': '1' } })

/** Returns memory that is not shared, so that it can be transferred. Large buffers are not shared already. */
function ownBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes)
}

/** Loads the library and starts the thread when the first large body arrives. */
async function openThread(): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  return new Piscina({
    filename: new URL('./json-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: limits.places,
    idleTimeout: idleMs,
    recordTiming: false,
    atomics: 'disabled',
    resourceLimits,
  })
}
