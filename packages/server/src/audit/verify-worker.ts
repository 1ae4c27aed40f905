import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { fromPortable } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'
import { verify } from './verify-run.ts'
import type { Question, Reply } from './verify-thread.ts'

/** Behind the threads that answer requests, where they have to share a core. Nice levels, 0 to 19. */
const niceness = 10

// On Linux this is the calling thread's priority; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(0, niceness)

parentPort?.on('message', async ({ workspaceId, store }: Question) => {
  parentPort?.postMessage(
    await verify(fromPortable(store), workspaceId).then(
      (chain): Reply => ({ workspaceId, chain }),
      (cause): Reply => ({
        workspaceId,
        chain: null,
        code: cause instanceof Refusal ? cause.code : 'internal_error',
        cause: cause instanceof Refusal ? cause.cause : cause,
      }),
    ),
  )
})
