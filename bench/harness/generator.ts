import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ended, tail, track } from './children.ts'
import { LOAD_CORE, pinned } from './pin.ts'

/**
 * Runs a script of this folder in its own process, on the load's core: the plan goes in as JSON on standard input, the
 * result comes out as JSON on standard output.
 *
 * @throws Error with the script's message when it fails
 */
export async function runGenerator<Plan, Result>(
  script: string,
  plan: Plan,
  core: number | null = LOAD_CORE,
): Promise<Result> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const run = pinned(core, process.execPath, [path])
  const child = track(spawn(run.command, run.args, { stdio: ['pipe', 'pipe', 'pipe'] }))
  const errors = tail(child.stderr)
  const output = tail(child.stdout, Number.POSITIVE_INFINITY)
  // A script that ends before it reads its plan closes the pipe; its exit code reports the reason.
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(plan))
  const { code, signal } = await ended(child)
  if (code !== 0) throw new Error(`${script} ended with ${signal ?? code}: ${errors()}`)
  return JSON.parse(output())
}

/** The script's side: reads the plan, works, writes the result. */
export async function serveGenerator<Plan, Result>(work: (plan: Plan) => Promise<Result>): Promise<void> {
  const chunks: string[] = []
  for await (const chunk of process.stdin.setEncoding('utf8')) chunks.push(chunk)
  const result = await work(JSON.parse(chunks.join('')))
  process.stdout.write(JSON.stringify(result), () => process.exit(0))
}
