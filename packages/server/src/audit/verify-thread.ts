import { Worker } from 'node:worker_threads'
import type { ErrorCode } from '@keyrail/contract/errors'
import type { DerivedChain } from '@keyrail/contract/vendor/audit'
import { type Connection, type PortableConnection, toPortable } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'
import type { ChainStep, Watch } from './verify-run.ts'

/** A question to the thread; one run per workspace at a time. */
export interface Question {
  workspaceId: string
  store: PortableConnection
}

/** The progress of a run, and at its end the result, or why there is none. */
export type Reply = { workspaceId: string } & (
  | { step: ChainStep }
  | { step: null; chain: DerivedChain }
  | { step: null; chain: null; code: ErrorCode; cause: unknown }
)

export interface VerifyThread {
  /** @throws {Refusal} `unavailable` when the database or the thread is lost during the run. */
  verify(workspaceId: string, watch?: Watch): Promise<DerivedChain>
  /** Ends the thread. Runs that have not ended are refused. */
  close(): void
}

interface Asked extends PromiseWithResolvers<DerivedChain> {
  readonly watch: Watch | undefined
}

/** A thread takes 90 ms to start and about 20 MiB, so it is kept for later runs. */
const idleMs = 30_000

/**
 * Heap of the thread, in MiB. A small young generation is collected often, and with it the buffers in which rows arrived;
 * without the limit, the garbage of a chain of a million rows grew to 60 MiB.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 96 }

/** Verifies in a separate thread, so that other requests do not wait for a million hashes. */
export function openVerifyThread(connection: Connection): VerifyThread {
  const store = toPortable(connection)
  const asked = new Map<string, Asked>()
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined

  const start = (): Worker => {
    const started = new Worker(new URL('./verify-worker.ts', import.meta.url), {
      name: 'audit chain',
      resourceLimits,
    })
    started.on('message', (reply: Reply) => {
      const run = asked.get(reply.workspaceId)
      if (reply.step !== null) return run?.watch?.(reply.step)
      asked.delete(reply.workspaceId)
      if (reply.chain !== null) run?.resolve(reply.chain)
      else run?.reject(new Refusal(reply.code, '', { cause: reply.cause }))
      if (asked.size === 0) rest(started)
    })
    const lose = (cause: unknown) => {
      if (worker !== started) return
      worker = null
      for (const run of asked.values()) run.reject(new Refusal('unavailable', '', { cause }))
      asked.clear()
    }
    started.on('error', lose)
    started.on('exit', code => lose(new Error(`the verification thread exited with ${code}`)))
    return started
  }
  /** An idle thread does not keep the process alive. */
  const rest = (resting: Worker) => {
    resting.unref()
    idle = setTimeout(() => {
      worker = null
      void resting.terminate()
    }, idleMs).unref()
  }

  return {
    verify(workspaceId, watch) {
      clearTimeout(idle)
      try {
        worker ??= start()
        worker.ref()
        worker.postMessage({ workspaceId, store } satisfies Question)
      } catch (cause) {
        // The system gives no further thread at the moment.
        if (worker !== null && asked.size === 0) rest(worker)
        return Promise.reject(new Refusal('unavailable', '', { cause }))
      }
      const run = { ...Promise.withResolvers<DerivedChain>(), watch }
      asked.set(workspaceId, run)
      return run.promise
    },
    close() {
      clearTimeout(idle)
      void worker?.terminate()
    },
  }
}
