import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Connection } from '../src/platform/db/connection.ts'
import { layoutOf, listClusters } from '../src/platform/db/embedded/layout.ts'
import { readPostmasterFile } from '../src/platform/db/embedded/postmaster-file.ts'
import { processesIn } from '../src/platform/db/embedded/processes.ts'
import { cleanUp, FAST_PLACE, type InstallationPlace } from './embedded-service.ts'
import { encryptionKey } from './encryption-key.ts'
import { ownMark } from './mark.ts'
import { until } from './until.ts'

export const root = fileURLToPath(new URL('../../..', import.meta.url))
const command = join(root, 'bin/keyrail.mjs')

/** How a process ended, and what it printed. */
interface End {
  code: number | null
  signal: NodeJS.Signals | null
  out: string
  err: string
}

export interface Running {
  child: ChildProcess
  /** What it has printed so far. */
  output: { out: string; err: string }
  ended: Promise<End>
}

/** Where standard output goes: collected, to a socket that the test reads or not, or to an open file. */
export type Stdout = 'collect' | 'unread' | number

export interface Serving extends Running {
  url: string
}

/** A separate data directory, and commands on it. The database is the embedded one unless `env` says otherwise. */
export class Installation {
  readonly place: InstallationPlace
  readonly dataDir: string
  readonly env: Record<string, string>
  #started: Running[] = []

  constructor(env: Record<string, string> = {}) {
    const temp = mkdtempSync(join(FAST_PLACE, 'keyrail-cli-'))
    // As root, Postgres runs under an account that must reach it.
    chmodSync(temp, 0o755)
    this.dataDir = join(temp, 'data')
    this.place = { temp, dataDir: this.dataDir, stateDirectory: join(temp, 'state') }
    const key = 'DATABASE_URL' in env ? { SERVICE_ENCRYPTION_KEY: encryptionKey } : {}
    this.env = { SERVICE_DATA_DIR: this.dataDir, SERVICE_PORT: '0', ...key, ...env }
  }

  /** Runs `keyrail …` in its own process group, as a terminal does. It inherits only PATH and the mark of the test file. */
  start(args: string[], env: Record<string, string> = {}, stdout?: Stdout): Running {
    return this.run(process.execPath, [command, ...args], env, root, stdout)
  }

  /** @param cwd the folder in which it starts. */
  run(
    file: string,
    args: string[],
    env: Record<string, string> = {},
    cwd = root,
    stdout: Stdout = 'collect',
  ): Running {
    const child = spawn(file, args, {
      cwd,
      detached: true,
      stdio: ['ignore', typeof stdout === 'number' ? stdout : 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', HOME: this.place.temp, ...ownMark(), ...this.env, ...env },
    })
    const output = { out: '', err: '' }
    if (stdout === 'collect')
      child.stdout?.setEncoding('utf8').on('data', text => {
        output.out += text
      })
    child.stderr?.setEncoding('utf8').on('data', text => {
      output.err += text
    })
    const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...output }))
    const running = { child, output, ended }
    this.#started.push(running)
    return running
  }

  /** Starts the service and waits until it listens. */
  async serve(env: Record<string, string> = {}): Promise<Serving> {
    return await this.listening(this.start(['serve'], env))
  }

  async listening(running: Running): Promise<Serving> {
    let isOver = false
    running.ended.then(() => {
      isOver = true
    })
    await until(() => isOver || listens.test(running.output.out))
    const url = listens.exec(running.output.out)?.[1]
    if (url === undefined) throw new Error(`the service ended: ${JSON.stringify(await running.ended)}`)
    return { ...running, url }
  }

  /** The bootstrap token that the first start made. */
  get token(): string {
    return readFileSync(join(this.dataDir, 'bootstrap-token'), 'utf8').trim()
  }

  get cluster(): string {
    const major = listClusters(this.dataDir).at(-1) ?? 0
    return realpathSync(layoutOf(this.dataDir, major).dataDirectory)
  }

  /** The Postgres processes that work on this directory. */
  postgresPids(): number[] {
    return listClusters(this.dataDir).length === 0 ? [] : processesIn(this.cluster).map(({ pid }) => pid)
  }

  postmasterPid(): number {
    const pid = readPostmasterFile(this.cluster)?.pid
    if (pid === undefined) throw new Error('Postgres is not running')
    return pid
  }

  /** The process that holds the directory: not the command, but the Node that it started. */
  servicePid(): number {
    const locks = readdirSync(this.dataDir).filter(name => /^service\.lock\.\d+$/.test(name))
    const newest = Math.max(...locks.map(name => Number(name.split('.').at(-1))))
    return JSON.parse(readFileSync(join(this.dataDir, `service.lock.${newest}`), 'utf8')).pid
  }

  /** The process that owns a listening socket, which may differ from the one that holds the directory. Linux only. */
  listenerOf(url: string): number {
    const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
    const line = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map(row => row.trim().split(/\s+/))
      .find(([, local = '', , state]) => local.endsWith(`:${port}`) && state === '0A')
    const owner = readdirSync('/proc').find(pid => /^\d+$/.test(pid) && holdsSocket(pid, line?.[9] ?? 'none'))
    if (owner === undefined) throw new Error(`nothing listens on ${url}`)
    return Number(owner)
  }

  /** Kills whatever a failed test has left running, and removes the files. */
  async remove(): Promise<void> {
    for (const { child } of this.#started) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) continue
      // Its group: the command and the Node that it started.
      process.kill(-child.pid, 'SIGKILL')
    }
    await Promise.all(this.#started.map(({ ended }) => ended))
    cleanUp(this.place)
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(
      fd => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`,
    )
  } catch {
    // It is gone, or one of its files was just closed.
    return false
  }
}

const listens = /^Keyrail \S+ listens on (https?:\S+)$/m

/** Sends a request; null if nothing listens. */
export async function ask(
  url: string,
  { token, body, method = body === undefined ? 'GET' : 'POST' }: Ask = {},
  // biome-ignore lint/suspicious/noExplicitAny: what a test hears is checked by its assertions.
): Promise<{ status: number; body: any } | null> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  } catch {
    return null
  }
}

interface Ask {
  token?: string
  body?: unknown
  method?: string
}

/** The URL form of a connection through a socket. */
export function urlOf({ host, port, user, password, database }: Connection): string {
  const parameters = new URLSearchParams({
    host: String(host),
    port: String(port),
    user: String(user),
    password: String(password),
  })
  return `postgres:///${database}?${parameters}`
}

/** A stack trace is for logs, not for people. */
export const looksLikeStack = (text: string) => /^\s+at .+:\d+:\d+\)?$/m.test(text)
