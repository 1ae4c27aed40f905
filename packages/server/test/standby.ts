import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { Connection } from '../src/platform/db/connection.ts'
import { migrate } from '../src/platform/db/migrate/migrate.ts'
import { type ScratchCluster, startScratchCluster } from './scratch.ts'
import { until } from './until.ts'

/** A real primary and a real standby that streams from it, behind one address that leads to one of them. */
export interface Pair {
  /** The address. It leads to the primary until `leadTo` changes it. */
  readonly connection: Connection
  /** Both servers, past the address. */
  readonly servers: Readonly<Record<'primary' | 'standby', Connection>>
  /** Points the address to that server. Connections through it are cut, unless they are left. */
  leadTo(server: 'primary' | 'standby', open?: 'cut' | 'left'): void
  /** Runs SQL on one server directly, not through the address. */
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  on(server: 'primary' | 'standby', text: string, values?: unknown[]): Promise<any[]>
  /** From now on the primary commits only what the standby has. */
  synchronous(): Promise<void>
  /** From now on the standby receives no commits. It has everything that was committed before. */
  holdBack(): Promise<void>
  /** Kills the primary with SIGKILL. */
  killPrimary(): void
  /** Kills the primary with SIGKILL, promotes the standby, and points the address to it. */
  failOver(): Promise<void>
  remove(): Promise<void>
}

/** @param bin the folder of another Postgres than the embedded one. */
export async function startPair(bin?: string): Promise<Pair> {
  const folder = mkdtempSync('/tmp/keyrail-pair-')
  // As root, Postgres runs under another account, which must be able to enter the folder.
  chmodSync(folder, 0o755)
  const [first, second] = [join(folder, 'a'), join(folder, 'b')]
  const own = bin === undefined ? {} : { bin }
  const primary = await startScratchCluster({ directory: first, ...own })
  await migrate(primary.connection)
  const standby = await copyAsStandby(primary, first, second, own)
  const servers = { primary, standby }
  const address = await openAddress(primary.connection)

  const on: Pair['on'] = async (server, text, values) => {
    const client = new pg.Client(servers[server].connection)
    await client.connect()
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }
  const untilSent = async () => {
    const [{ lsn }] = await on('primary', 'select pg_current_wal_flush_lsn() as lsn')
    const reached = `select coalesce(pg_last_wal_replay_lsn() >= $1, false) as yes`
    await until(async () => (await on('standby', reached, [lsn]))[0].yes)
  }
  return {
    connection: { ...primary.connection, host: '127.0.0.1', port: address.port },
    servers: { primary: primary.connection, standby: standby.connection },
    leadTo: (server, open) => address.leadTo(servers[server].connection, open),
    on,
    async synchronous() {
      await on('primary', `alter system set synchronous_standby_names = '*'`)
      await on('primary', 'select pg_reload_conf()')
      const isSync = `select from pg_stat_replication where sync_state = 'sync'`
      await until(async () => (await on('primary', isSync)).length > 0)
    },
    async holdBack() {
      await untilSent()
      await on('standby', `alter system set primary_conninfo = ''`)
      await on('standby', 'select pg_reload_conf()')
      await until(async () => (await on('primary', 'select from pg_stat_replication')).length === 0)
    },
    killPrimary: () => void process.kill(primary.pid, 'SIGKILL'),
    async failOver() {
      process.kill(primary.pid, 'SIGKILL')
      await on('standby', 'select pg_promote()')
      address.leadTo(standby.connection)
    },
    async remove() {
      await address.close()
      await standby.remove()
      await primary.remove()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Copies the files of the stopped primary, which are consistent then. Both servers run when this returns. */
async function copyAsStandby(
  primary: ScratchCluster,
  from: string,
  to: string,
  own: { bin?: string },
): Promise<ScratchCluster> {
  await primary.stop()
  const data = primary.dataDirectory
  const copy = join(to, data.slice(from.length))
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 })
  cpSync(join(from, 'postgres-password'), join(to, 'postgres-password'))
  // Postgres checks owners and modes, so the copy keeps them.
  execFileSync('cp', ['-a', data, copy])
  await primary.restart()
  writeFileSync(join(copy, 'standby.signal'), '')
  const { host, port, user, password } = primary.connection
  const primary_conninfo = `host=${host} port=${port} user=${user} password=${password}`
  return await startScratchCluster({ directory: to, settings: { primary_conninfo }, ...own })
}

interface Address {
  readonly port: number
  leadTo(server: Connection, open?: 'cut' | 'left'): void
  close(): Promise<void>
}

/** A port on loopback that leads to one of two sockets. */
async function openAddress(to: Connection): Promise<Address> {
  const sockets = new Set<Socket>()
  let target = to
  const server = createServer(near => {
    const far = dial(`${target.host}/.s.PGSQL.${target.port}`)
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        other.destroy()
      })
      from.pipe(other)
    }
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    leadTo(next, open = 'cut') {
      target = next
      if (open === 'cut') cut()
    },
    async close() {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
