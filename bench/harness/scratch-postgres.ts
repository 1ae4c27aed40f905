import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { startScratchCluster } from '../../packages/server/test/scratch.ts'
import type { Resource } from './bench.ts'
import { durableDirectory } from './durable-directory.ts'
import { pinTree, SERVER_CORE } from './pin.ts'
import type { Connection } from './postgres-tools.ts'
import { treeCpuSeconds } from './proc.ts'

/** Every arm commits durably: a bench without one of these would compete against less work. */
const DURABLE = { fsync: true, full_page_writes: true, synchronous_commit: 'on' } as const

export type ScratchPostgres = Resource & {
  connection: Connection
  /** For DATABASE_URL. */
  url: string
  /** The postmaster's. */
  pid: number
  /** For instance `18.4`. */
  serverVersion: string
  /** Runs one statement, or several without parameters, on a new connection; returns the (last) rows. */
  query(sql: string, parameters?: readonly unknown[]): Promise<Record<string, unknown>[]>
  /** CPU time so far of all its processes, ended ones too, in seconds. */
  cpuSeconds(): number
  /** Stops it and deletes its files. */
  close(): Promise<void>
}

/**
 * A fresh durable cluster for one run, pinned beside the server.
 *
 * @param settings more of postgresql.conf; durability cannot be changed
 * @param bin folder of another Postgres, for instance Debian's
 */
export async function scratchPostgres({
  settings = {},
  bin,
  core = SERVER_CORE,
}: {
  settings?: Record<string, string | number | boolean>
  bin?: string
  core?: number | null
} = {}): Promise<ScratchPostgres> {
  const directory = mkdtempSync(join(durableDirectory(), 'keyrail-bench-'))
  const discard = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  // As root, Postgres runs under another account, which must be able to enter these folders.
  chmodSync(directory, 0o711)
  try {
    const all = { ...settings, ...DURABLE }
    const cluster = await startScratchCluster({ directory, settings: all, ...(bin ? { bin } : {}) })
    const { connection } = cluster
    const query: ScratchPostgres['query'] = (sql, parameters = []) => runQuery(connection, sql, parameters)
    const close = async () => {
      await cluster.remove()
      discard()
    }
    try {
      pinTree(cluster.pid, core)
      await requireDurable(query)
    } catch (error) {
      await close()
      throw error
    }
    const { pid, serverVersion } = cluster
    return {
      connection,
      url: urlOf(connection),
      pid,
      serverVersion,
      query,
      cpuSeconds: () => treeCpuSeconds(pid),
      close,
    }
  } catch (error) {
    discard()
    throw error
  }
}

async function runQuery(connection: Connection, sql: string, parameters: readonly unknown[]) {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const result = await client.query(sql, [...parameters])
    // Several statements return an array of results, against the types of `pg`.
    const last: unknown = Array.isArray(result) ? result.at(-1) : result
    return (last as pg.QueryResult<Record<string, unknown>>).rows
  } finally {
    await client.end()
  }
}

async function requireDurable(query: ScratchPostgres['query']): Promise<void> {
  const names = Object.keys(DURABLE)
  const rows = await query('select name, setting from pg_settings where name = any($1)', [names])
  const off = names.find(name => rows.find(row => row.name === name)?.setting !== 'on')
  if (off) throw new Error(`the scratch Postgres runs without ${off}`)
}

/** The form of a socket directory in a URL: the parameter `host`. */
function urlOf({ host, port, user, password, database }: Connection): string {
  const [name, word] = [user, password].map(encodeURIComponent)
  return `postgresql://${name}:${word}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}
