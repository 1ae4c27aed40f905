import type { ErrorCode, FieldFault } from '@keyrail/contract/errors'
import type { Piscina } from 'piscina'
import type { Logger } from '../log.ts'
import { Refusal } from '../refusal.ts'

/** Texts that may wait for the thread. `large-bodies.ts` bounds their bytes; this bounds how long the last one waits. */
const waitingMax = 64
/** A thread takes 60 ms to start; it is kept for those who come back soon, in ms. */
const idleMs = 30_000
/** MiB of its heap: a few times what the largest body can become. */
const resourceLimits = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 256 }

/** What is asked of the thread. */
export interface Question {
  readonly bytes: Uint8Array
  readonly isOdd: boolean
}
/** A refusal as values: an error loses what it is on its way between threads. */
export type Reply =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly detail: string; readonly faults: readonly FieldFault[] }

/** Reads large JSON beside the thread that answers requests. The bytes are handed over: the caller has them no longer. */
export interface JsonThread {
  /** As `parseJson`. @throws {Refusal} what that throws, and `unavailable` when too many wait already. */
  parse(bytes: Uint8Array): Promise<unknown>
  /** As `parseOddJson`. @throws {Refusal} likewise. */
  parseOdd(bytes: Uint8Array): Promise<unknown>
  close(): Promise<void>
}

export function openJsonThread(log: Pick<Logger, 'error'>): JsonThread {
  let opened: Promise<Piscina> | null = null

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
  const ask = async (bytes: Uint8Array, isOdd: boolean): Promise<unknown> => {
    let reply: Reply
    try {
      opened ??= open()
      const pool = await opened
      const own = ownBuffer(bytes)
      reply = await pool.run({ bytes: own, isOdd } satisfies Question, {
        name: 'read',
        transferList: [own.buffer],
      })
    } catch (cause) {
      throw new Refusal('unavailable', '', { cause, headers: { 'retry-after': '1' } })
    }
    if ('value' in reply) return reply.value
    throw new Refusal(reply.code, reply.detail, { faults: [...reply.faults] })
  }

  return {
    parse: bytes => ask(bytes, false),
    parseOdd: bytes => ask(bytes, true),
    async close() {
      await (await opened)?.destroy()
    },
  }
}

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
    maxQueue: waitingMax,
    idleTimeout: idleMs,
    recordTiming: false,
    atomics: 'disabled',
    resourceLimits,
  })
}
