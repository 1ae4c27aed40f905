import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { findAccount } from './account.ts'
import { inspectBinaries, locateBinaries } from './binaries.ts'
import { createCluster, DATABASE, readOrMakePassword, USER } from './cluster.ts'
import { layoutOf } from './layout.ts'
import { clearOrphans, type Launch, launchPostmaster, stopPostmaster } from './postmaster.ts'
import { portOf, renderSettings, type Settings } from './settings.ts'
import { makeSocketDirectory } from './socket-directory.ts'

export type ScratchCluster = {
  /** `host` is the directory of the socket. */
  connection: { host: string; port: number; user: string; password: string; database: string }
  dataDirectory: string
  /** For instance `18.4`. */
  serverVersion: string
  /** Of the postmaster; changes with `restart`. */
  readonly pid: number
  /** Starts it again on the same files, after `stop` or after it was killed. */
  restart(): Promise<void>
  /** Fast shutdown. The files stay. */
  stop(): Promise<void>
  /** Ends it at once and removes its files, unless the directory was given. */
  remove(): Promise<void>
}

/**
 * A throw-away cluster for tests and benches: no lock, no bringing back, and it ends with the process that
 * started it, however that ends. Without `directory` it lies in a new one under /tmp, which is removed.
 *
 * @param settings over the embedded server's own; `fsync` and `full_page_writes` are off unless given
 * @param bin folder with `postgres` and `initdb` of another Postgres
 * @param env more environment for the postmaster (LD_PRELOAD of a fault library, for instance)
 */
export async function startScratchCluster({
  directory,
  settings = {},
  bin,
  env = {},
}: {
  directory?: string
  settings?: Settings
  bin?: string
  env?: Record<string, string>
} = {}): Promise<ScratchCluster> {
  const account = findAccount()
  if (directory) mkdirSync(directory, { recursive: true, mode: 0o711 })
  const base = realpathSync(directory ?? mkdtempSync('/tmp/keyrail-scratch-'))
  // mkdtemp closes it to others, and the account has to pass through.
  if (!directory) chmodSync(base, 0o711)
  const binaries = bin ? inspectBinaries(bin, account) : locateBinaries(account, base)
  const layout = layoutOf(base, binaries.major)
  const all: Settings = { fsync: false, full_page_writes: false, ...settings }
  mkdirSync(layout.clusters, { recursive: true, mode: 0o711 })
  const { password } = readOrMakePassword(layout.passwordFile)
  if (!existsSync(layout.dataDirectory)) {
    createCluster(layout.dataDirectory, { binaries, account, password, sync: false })
  }
  const host = makeSocketDirectory(layout.socketDirectory, account)
  writeFileSync(layout.configFile, renderSettings(host, all), { mode: 0o644 })
  const launch: Launch = { ...layout, binaries, account, env }

  let postmaster = await launchPostmaster(launch)
  const watcher = endWithUs(layout.dataDirectory, directory ? undefined : base)
  const stop = async () => {
    await stopPostmaster(layout.dataDirectory, postmaster.pid)
    await clearOrphans(layout.dataDirectory)
  }
  return {
    connection: { host, port: portOf(all), user: USER, password, database: DATABASE },
    dataDirectory: layout.dataDirectory,
    serverVersion: binaries.version,
    get pid() {
      return postmaster.pid
    },
    async restart() {
      await stop()
      rmSync(join(layout.dataDirectory, 'postmaster.pid'), { force: true })
      postmaster = await launchPostmaster(launch)
    },
    stop,
    async remove() {
      await stopPostmaster(layout.dataDirectory, postmaster.pid, { fastMs: 0 })
      await clearOrphans(layout.dataDirectory)
      watcher.kill('SIGKILL')
      if (!directory) rmSync(base, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * A shell that waits for us to end, by whatever signal: then its standard input closes, and it ends the
 * postmaster and removes the files. In a session of its own, so that Ctrl-C does not take it along.
 */
function endWithUs(dataDirectory: string, removable: string | undefined): ChildProcess {
  const script =
    'read -r _; pid=$(head -n 1 "$1/postmaster.pid") && kill -QUIT "$pid"; ' +
    'if [ -n "$2" ]; then sleep 0.3; rm -rf "$2"; fi'
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', dataDirectory, removable ?? ''], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  })
  watcher.unref()
  const { stdin } = watcher
  if (stdin instanceof Socket) stdin.unref()
  return watcher
}
