import { spawn } from 'node:child_process'
import { BenchFault } from './bench.ts'
import { ended, tail, track } from './children.ts'
import { LOAD_CORE, pinned } from './pin.ts'
import { type Connection, libpqEnvironment, requirePostgresTool } from './postgres-tools.ts'

/**
 * How long a statement takes in `psql`, by its `\timing`: one session, so that no process start is counted.
 *
 * @returns the times in ms, and the rows of the last answer, a line each
 */
export async function psqlTimes(
  connection: Connection,
  query: string,
  times: number,
): Promise<{ ms: readonly number[]; rows: readonly string[] }> {
  const flags = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1']
  const run = pinned(LOAD_CORE, requirePostgresTool('psql'), flags)
  const env = libpqEnvironment(connection)
  const child = track(spawn(run.command, run.args, { env, stdio: ['pipe', 'pipe', 'pipe'] }))
  const errors = tail(child.stderr)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stdin.end(`\\timing on\n${`${query};\n`.repeat(times)}`)
  const { code, signal } = await ended(child)
  if (code !== 0) throw new BenchFault(`psql ended with ${signal ?? code}: ${errors()}`)
  const answers = output.split(/^Time: /m)
  const ms = answers.slice(1).map(text => Number.parseFloat(text))
  if (ms.length !== times || ms.some(Number.isNaN))
    throw new BenchFault(`psql reported no times: ${output.slice(0, 500)}`)
  const last = answers.at(-2) ?? ''
  const rows = last.split('\n').slice(answers.length > 2 ? 1 : 0)
  return { ms, rows: rows.filter(row => row !== '') }
}
