import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { goEnv } from './vendor-program.ts'

const run = promisify(execFile)

/** Builds the driver of the suite, which is the program of the tests. */
export async function buildDriver(path: string): Promise<void> {
  await run('go', ['test', '-c', '-o', path, '.'], { cwd: import.meta.dirname, env: goEnv })
}

export type Answered = Record<string, unknown>

/** The driver as a process, one command after the other. */
export function startDriver(path: string) {
  const child = spawn(path, ['-conformance'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let id = 0
  return {
    async send(op: string, fields: Record<string, unknown> = {}): Promise<Answered> {
      child.stdin.write(`${JSON.stringify({ id: ++id, op, ...fields })}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`the driver ended at ${op}`)
      const { id: answered, ...answer } = JSON.parse(value)
      if (answered !== id) throw new Error(`${value} does not answer ${op}`)
      return answer
    },
    end: () => child.stdin.end(),
  }
}
