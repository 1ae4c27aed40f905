import type { ErrorCode, FieldFault } from '@keyrail/contract/errors'
import type { Piscina } from 'piscina'
import { FairQueue } from '../fair-queue.ts'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'

/**
 * Texts that may wait for the thread, of one sender. `large-bodies.ts` bounds their bytes; this bounds how long the last
 * one waits. The thread always has the next text at hand, and no sender has more than one there.
 */
const limits = { places: 2, placesOfOne: 1, waitingOfOne: 64 }
/** A thread takes 60 ms to start; it is kept for those who come back soon, in ms. */
const idleMs = 30_000
/** MiB of its heap: a few times what the largest body can become. */
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

/** What is asked of the thread. */
export interface Question {
  readonly bytes: Uint8Array
  readonly isOdd: boolean
  /** The module of a `BodyReader`, which judges the value and makes what is answered of it; null: the value itself. */
  readonly reader: string | null
}
/** A refusal as values: an error loses what it is on its way between threads. */
export type Reply =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly detail: string; readonly faults: readonly FieldFault[] }

/**
 * Reads large JSON beside the thread that answers requests. The bytes are handed over: the caller has them no longer.
 * Senders take turns.
 */
export interface JsonThread {
  /**
   * As `parseJson`, and then as the reader does, whose buffers come as `Uint8Array`.
   * @param reader the module of a `BodyReader`.
   * @throws {Refusal} what those throw, and `unavailable` when too many of this sender wait already.
   */
  parse(bytes: Uint8Array, sender: string, reader?: string | null): Promise<unknown>
  /** As `parseOddJson`. @throws {Refusal} likewise. */
  parseOdd(bytes: Uint8Array, sender: string): Promise<unknown>
  close(): Promise<void>
}

export function openJsonThread(log: Pick<Logger, 'error'>): JsonThread {
  let opened: Promise<Piscina> | null = null
  const queue = new FairQueue(limits)

  const open = () => {
    const opening = openThread().then(pool => {
      // A thread that ends before its first call leaves those who wait for it waiting, unless the pool ends with it.
      pool.on('error', err => {
        log.error({ err }, 'the thread that reads large bodies has failed')
        if (opened === opening) opened = null
        void pool.destroy()
      })
      return pool
    })
    return opening
  }
  const ask = async (sender: string, { bytes, ...how }: Question): Promise<unknown> => {
    const turn = queue.take(sender)
    if (turn === null) throw unavailable()
    let reply: Reply
    try {
      if (turn.come !== null) await turn.come
      opened ??= open()
      const pool = await opened
      const own = ownBuffer(bytes)
      reply = await pool.run({ bytes: own, ...how } satisfies Question, {
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
    async close() {
      await (await opened)?.destroy()
    },
  }
}

const unavailable = (cause?: unknown) =>
  new Refusal('unavailable', '', { cause, headers: { 'retry-after': '1' } })

/** Memory that nobody else has a part of, so that it can be handed over. Large buffers are so already. */
function ownBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes)
}

/** The library is read, and the thread started, when the first large body comes. */
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
