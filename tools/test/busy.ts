import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Keeps a core busy. Checks for its parent now and then, so that it ends when the run is killed. */
const loop = `
  const parent = process.ppid
  while (process.ppid === parent) for (let i = 0; i < 1e7; i++);`

export interface BusyProcesses {
  readonly pids: readonly number[]
  /** Ends them, and returns once they have ended. */
  end(): Promise<void>
}

/** Takes processor time from everything else, like a busy machine. */
export function startBusyProcesses(count: number): BusyProcesses {
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--eval', loop], { stdio: 'ignore' }),
  )
  return {
    pids: children.flatMap(({ pid }) => pid ?? []),
    async end() {
      await Promise.all(children.map(endChild))
    },
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
