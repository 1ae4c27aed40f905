import { Worker } from 'node:worker_threads'
import type { ErrorCode } from '@keyrail/contract/errors'
import type { DerivedChain } from '@keyrail/contract/vendor/audit'
import { type Connection, type PortableConnection, toPortable } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'

/** What the thread is asked, one run of a workspace at a time. */
export interface Question {
  workspaceId: string
  store: PortableConnection
}

/** What it says: the verdict, or why there is none. */
export type Reply = { workspaceId: string } & (
  | { chain: DerivedChain }
  | { chain: null; code: ErrorCode; cause: unknown }
)

export interface VerifyThread {
  /** @throws {Refusal} `unavailable` when the store or the thread is lost meanwhile. */
  verify(workspaceId: string): Promise<DerivedChain>
}

/** A thread takes 90 ms to start and about 20 MiB; it is kept for those who come back soon, and no longer. */
const idleMs = 30_000

/**
 * Its heap, in MiB. A small young generation is collected often, and with it the buffers that rows came in:
 * left to itself, the garbage of a chain of a million rows grew to 60 MiB.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 96 }

/** Verification in a thread of its own, so that other requests need not wait for a million hashes. */
export function openVerifyThread(connection: Connection): VerifyThread {
  const store = toPortable(connection)
  const asked = new Map<string, PromiseWithResolvers<DerivedChain>>()
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined

  const start = (): Worker => {
    const started = new Worker(new URL('./verify-worker.ts', import.meta.url), {
      name: 'audit chain',
      resourceLimits,
    })
    started.on('message', (reply: Reply) => {
      const run = asked.get(reply.workspaceId)
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
    started.on('exit', code => lose(new Error(`the verifying thread ended with ${code}`)))
    return started
  }
  /** Without a run it keeps no process from ending. */
  const rest = (resting: Worker) => {
    resting.unref()
    idle = setTimeout(() => {
      worker = null
      void resting.terminate()
    }, idleMs).unref()
  }

  return {
    verify(workspaceId) {
      clearTimeout(idle)
      worker ??= start()
      worker.ref()
      const run = Promise.withResolvers<DerivedChain>()
      asked.set(workspaceId, run)
      worker.postMessage({ workspaceId, store } satisfies Question)
      return run.promise
    },
  }
}
