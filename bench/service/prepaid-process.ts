import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { BenchFault, type Resource } from '../harness/bench.ts'
import { ended, tail, track } from '../harness/children.ts'
import { LOAD_CORE, pinned } from '../harness/pin.ts'
import type { NodePlan, NodeTurn } from './prepaid-node.ts'

/** A process with limiters, from outside. */
export interface NodeProcess extends Resource {
  path: string
  /** Resolves when its last request is decided, or when it was killed. */
  run(turn: NodeTurn): Promise<void>
  kill(): void
}

/** Starts a process, and resolves when it is warm. */
export async function startNode(plan: NodePlan): Promise<NodeProcess> {
  const run = pinned(LOAD_CORE, process.execPath, [join(import.meta.dirname, 'prepaid-node.ts')])
  const child = track(spawn(run.command, run.args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }))
  const errors = tail(child.stderr)
  let isKilled = false
  const end = ended(child).then(({ code }) => {
    if (code !== 0 && !isKilled) throw new BenchFault(`a node ended with ${code}: ${errors()}`)
  })
  end.catch(() => {})
  const kill = () => {
    isKilled = true
    child.kill('SIGKILL')
  }
  child.send(plan)
  await Promise.race([once(child, 'message'), end])
  return {
    path: plan.path,
    run(turn) {
      child.send(turn)
      return end
    },
    kill,
    close: async () => {
      kill()
      await end.catch(() => {})
    },
  }
}
