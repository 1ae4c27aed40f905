import { type ChildProcess, spawn } from 'node:child_process'
import { BenchFault } from './bench.ts'
import { ended, tail, track } from './children.ts'
import { LOAD_CORE, pinned } from './pin.ts'
import { type Connection, libpqEnvironment, requirePostgresTool } from './postgres-tools.ts'

export type CopyOptions = {
  connection: Connection
  /** The query between the brackets of `COPY (…) TO STDOUT`. */
  query: string
  /** After `TO STDOUT`, for instance `(FORMAT binary)`. Rows are counted in text format only. */
  format?: string
  core?: number | null
}

/** How fast Postgres returns rows at best: `psql` copies them to /dev/null. */
export async function timeCopy(options: CopyOptions): Promise<{ ms: number }> {
  const startedAt = performance.now()
  await finish(startPsql(options, 'ignore'))
  return { ms: performance.now() - startedAt }
}

/**
 * Counts the same copy in another run, as reading the pipe would slow the timed one. Text format writes a row a line
 * and escapes line breaks within.
 */
export async function countCopy(options: CopyOptions): Promise<{ bytes: number; rows: number }> {
  const child = startPsql(options, 'pipe')
  let bytes = 0
  let rows = 0
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) rows++
  })
  await finish(child)
  return { bytes, rows }
}

function startPsql(options: CopyOptions, stdout: 'ignore' | 'pipe'): ChildProcess {
  const { connection, query, format = '', core = LOAD_CORE } = options
  const copy = `COPY (${query}) TO STDOUT ${format}`
  const flags = ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--command', copy]
  const run = pinned(core, requirePostgresTool('psql'), flags)
  const env = libpqEnvironment(connection)
  return track(spawn(run.command, run.args, { env, stdio: ['ignore', stdout, 'pipe'] }))
}

async function finish(child: ChildProcess): Promise<void> {
  const errors = tail(child.stderr)
  const { code, signal } = await ended(child)
  if (code !== 0) throw new BenchFault(`psql ended with ${signal ?? code}: ${errors()}`)
}
