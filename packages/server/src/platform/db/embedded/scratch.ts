import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { findAccount } from './account.ts'
import { inspectBinaries, locateBinaries } from './binaries.ts'
import { createCluster, DATABASE, makePassword, readPassword, SUPERUSER, writePassword } from './cluster.ts'
import { makeDirectory, STATE_DIRECTORY } from './directory.ts'
import { layoutOf } from './layout.ts'
import { clearDirectories } from './leftover.ts'
import { type Launch, launchPostmaster, stopPostmaster } from './postmaster.ts'
import { portOf, renderSettings, type Settings } from './settings.ts'
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'
import type { EmbeddedPostgres } from './start.ts'

export type ScratchCluster = EmbeddedPostgres & {
  /** Starts it again on the same files and the same socket, after `stop` or after it was killed. */
  restart(): Promise<void>
  /** Ends it at once and removes its files, unless their directory was given. */
  remove(): Promise<void>
}

const SCRATCH_SETTINGS: Settings = {
  fsync: false,
  full_page_writes: false,
  // Files of the cluster, which go with it: one that is killed and never started again would leave its segments
  // in /dev/shm for good.
  dynamic_shared_memory_type: 'mmap',
}

/**
 * A throw-away cluster for tests and benches: no lock and no bringing back, and it ends with the process that
 * started it, however that ends. `stop` leaves the files.
 *
 * @param directory where it lies and may have lain before; else a new one under /tmp, removed in the end
 * @param settings over the embedded server's own; `fsync` and `full_page_writes` are off unless given
 * @param bin folder with `postgres` and `initdb` of another Postgres
 * @param env more environment for the postmaster (LD_PRELOAD of a fault library, for instance)
 */
export async function startScratchCluster({
  directory,
  settings,
  bin,
  env = {},
}: {
  directory?: string
  settings?: Settings
  bin?: string
  env?: Record<string, string>
} = {}): Promise<ScratchCluster> {
  const account = findAccount()
  const made = directory === undefined ? mkdtempSync('/tmp/keyrail-scratch-') : undefined
  // mkdtemp closes it to others, and the account has to pass through.
  if (made) chmodSync(made, 0o755)
  const wanted = made ?? directory ?? ''
  makeDirectory(wanted, account)
  const base = realpathSync(wanted)
  const binaries = bin
    ? inspectBinaries(bin, account)
    : locateBinaries(account, account.switched ? STATE_DIRECTORY : base)
  const layout = layoutOf(base, binaries.major)
  makeDirectory(layout.clusters, account)
  const password = readPassword(layout.passwordFile) ?? makePassword()
  writePassword(layout.passwordFile, password)
  if (!existsSync(layout.dataDirectory)) {
    await createCluster(layout.dataDirectory, { binaries, account, password, sync: false })
  }
  const host = makeSocketDirectory(layout.socketDirectory, account)
  const all = { ...SCRATCH_SETTINGS, ...settings }
  writeFileSync(layout.configFile, renderSettings(host, all))
  chmodSync(layout.configFile, 0o644)
  const connection = { host, port: portOf(all), user: SUPERUSER, password, database: DATABASE }
  return run({ ...layout, socketDirectory: host, binaries, account, env }, connection, made)
}

async function run(
  launch: Launch,
  connection: ScratchCluster['connection'],
  made: string | undefined,
): Promise<ScratchCluster> {
  const { dataDirectory, binaries } = launch
  const watcher = endWithUs(dataDirectory, made)
  let postmaster = await start()

  async function start() {
    await clearDirectories(launch)
    return launchPostmaster(launch)
  }

  return {
    connection,
    dataDirectory,
    serverVersion: binaries.version,
    get pid() {
      return postmaster.pid
    },
    async restart() {
      postmaster = await start()
    },
    stop: () => stopPostmaster(dataDirectory, postmaster),
    async remove() {
      await stopPostmaster(dataDirectory, postmaster, { fastMs: 0 })
      watcher.kill('SIGKILL')
      removeSocketDirectory(connection.host)
      if (made) rmSync(made, { recursive: true, force: true, maxRetries: 5 })
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
  if (watcher.stdin instanceof Socket) watcher.stdin.unref()
  return watcher
}
