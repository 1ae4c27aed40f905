import { parentPort } from 'node:worker_threads'
import { lowerPriority } from '../platform/concurrency/lower-priority.ts'
import { fromPortable } from '../platform/db/connection.ts'
import { Refusal } from '../platform/refusal.ts'
import { verify } from './verify-run.ts'
import type { Question, Reply } from './verify-thread.ts'

lowerPriority()

parentPort?.on('message', async ({ workspaceId, store }: Question) => {
  const reply = (message: Reply) => parentPort?.postMessage(message)
  try {
    const chain = await verify(fromPortable(store), workspaceId, step => reply({ workspaceId, step }))
    reply({ workspaceId, step: null, chain })
  } catch (error) {
    const [code, cause] =
      error instanceof Refusal ? [error.code, error.cause] : ['internal_error' as const, error]
    reply({ workspaceId, step: null, chain: null, code, cause })
  }
})
