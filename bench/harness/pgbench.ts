import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BenchFault } from './bench.ts'
import { ended, tail, track } from './children.ts'
import { LOAD_CORE, pinned } from './pin.ts'
import { type Connection, libpqEnvironment, requirePostgresTool } from './postgres-tools.ts'

export type PgbenchOptions = {
  connection: Connection
  /** Text of a pgbench script: SQL, and its own commands such as `\set id random(1, 1000)`. */
  script: string
  clients: number
  /** As many as clients, by default. */
  threads?: number
  /** How long: whole seconds, at least 1, or so many transactions of each client. */
  seconds: number | { transactionsEach: number }
  /** `:name` in the script. */
  variables?: Readonly<Record<string, string | number>>
  /** `prepared` by default, like the service. */
  protocol?: 'simple' | 'extended' | 'prepared'
  core?: number | null
}

export type PgbenchResult = {
  /** Transactions a second, without the connection time. */
  tps: number
  /** Committed during the run: compare it with the rows that were written. */
  transactions: number
  latencyMs: number
}

/**
 * Runs a script on Postgres as fast as `clients` can: the speed of the database alone.
 *
 * @throws BenchFault when a transaction failed or a client gave up
 */
export async function runPgbench(options: PgbenchOptions): Promise<PgbenchResult> {
  const { connection, script, clients, threads = clients, variables = {}, protocol = 'prepared' } = options
  const { core = LOAD_CORE } = options
  const { seconds } = options
  const length =
    typeof seconds === 'number'
      ? ['-T', String(Math.max(1, Math.round(seconds)))]
      : ['-t', String(seconds.transactionsEach)]
  const program = requirePostgresTool('pgbench')
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-pgbench-'))
  const file = join(folder, 'script.sql')
  try {
    writeFileSync(file, script)
    const counts = ['-c', String(clients), '-j', String(threads), ...length]
    const defines = Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`])
    const run = pinned(core, program, ['-n', '-M', protocol, '-f', file, ...counts, ...defines])
    const child = track(
      spawn(run.command, run.args, { env: libpqEnvironment(connection), stdio: ['ignore', 'pipe', 'pipe'] }),
    )
    const [output, errors] = [tail(child.stdout), tail(child.stderr)]
    const { code, signal } = await ended(child)
    if (code !== 0) throw new BenchFault(`pgbench ended with ${signal ?? code}: ${errors()}`)
    return parsePgbench(output())
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Reads the report of pgbench 14 and later. */
export function parsePgbench(report: string): PgbenchResult {
  const number = (pattern: RegExp) => Number(pattern.exec(report)?.[1])
  const result = {
    tps: number(/^tps = ([\d.]+) \(without initial connection time\)$/m),
    transactions: number(/^number of transactions actually processed: (\d+)/m),
    latencyMs: number(/^latency average = ([\d.]+) ms$/m),
  }
  if (!Object.values(result).every(Number.isFinite))
    throw new BenchFault(`pgbench reported no rate:\n${report}`)
  const failed = number(/^number of failed transactions: (\d+)/m)
  if (failed > 0) throw new BenchFault(`pgbench: ${failed} transactions failed`)
  return result
}
