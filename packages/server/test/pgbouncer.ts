import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Connection } from '../src/platform/db/connection.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

export interface Pooler {
  readonly connection: Connection
  readonly url: string
  stop(): Promise<void>
}

/** A real pgbouncer in front of a database, on its own loopback port. The caller stops it. */
export async function startPgbouncer(target: Connection, mode: 'session' | 'transaction'): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-pooler-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const { host, port: server, user, password, database } = target
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${database} = host=${host} port=${server} dbname=${database} user=${user} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 60
max_client_conn = 200
ignore_startup_parameters = extra_float_digits,options
`,
  )
  // It runs as the account of Postgres, which alone may use the socket. It refuses to run as root.
  const { uid, gid } = statSync(String(host))
  const PATH = `${process.env.PATH}:/usr/sbin`
  const child = spawn('pgbouncer', [file], {
    ...(process.getuid?.() === 0 && { uid, gid }),
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH },
  })
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', text => {
    output += text
  })
  const ended = Promise.race([once(child, 'close'), once(child, 'error')])
  const connection = { host: '127.0.0.1', port, user: 'anyone', password: 'x', database: String(database) }
  await until(async () => isOver(child) || (await answers(connection)), 'pgbouncer answers')
  if (isOver(child)) throw new Error(`pgbouncer ended: ${output}`)
  return {
    connection,
    url: `postgres://anyone:x@127.0.0.1:${port}/${database}`,
    async stop() {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const isOver = ({ exitCode, signalCode, pid }: ChildProcess) =>
  pid === undefined || exitCode !== null || signalCode !== null

async function answers(connection: Connection): Promise<boolean> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
