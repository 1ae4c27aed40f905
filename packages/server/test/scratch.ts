import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { findAccount } from '../src/platform/db/embedded/account.ts'
import { inspectBinaries, locateBinaries } from '../src/platform/db/embedded/binaries.ts'
import {
  createCluster,
  DATABASE,
  makePassword,
  readPassword,
  SUPERUSER,
  writePassword,
} from '../src/platform/db/embedded/cluster.ts'
import { makeDirectory, STATE_DIRECTORY } from '../src/platform/db/embedded/directory.ts'
import { layoutOf } from '../src/platform/db/embedded/layout.ts'
import { clearDirectories } from '../src/platform/db/embedded/leftover.ts'
import { type Launch, launchPostmaster, stopPostmaster } from '../src/platform/db/embedded/postmaster.ts'
import { portOf, renderSettings, type Settings } from '../src/platform/db/embedded/settings.ts'
import { makeSocketDirectory, removeSocketDirectory } from '../src/platform/db/embedded/socket-directory.ts'
import type { EmbeddedPostgres } from '../src/platform/db/embedded/start.ts'

export type ScratchCluster = EmbeddedPostgres & {
  /** Starts it again on the same files and socket, after `stop` or a kill. */
  restart(): Promise<void>
  /** Ends it at once and removes its files, unless their directory was given. */
  remove(): Promise<void>
}

const SCRATCH_SETTINGS: Settings = {
  fsync: false,
  full_page_writes: false,
  // Files of the cluster, which are removed with it: a killed cluster that is never restarted would leave its
  // segments in /dev/shm for ever.
  dynamic_shared_memory_type: 'mmap',
}

/**
 * A throw-away cluster for tests and benches: it has no lock and is not restarted, and it ends with the process
 * that started it, however that ends. `stop` leaves the files.
 *
 * @param directory its directory, which may have files of an earlier run; by default a new one under /tmp,
 * removed in the end
 * @param settings override the embedded server's own; `fsync` and `full_page_writes` are off by default
 * @param bin the folder with `postgres` and `initdb` of another Postgres
 * @param env more environment for the postmaster (for example LD_PRELOAD of a fault library)
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
  // mkdtemp makes it private, and the account must pass through.
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
 * A shell that waits for this process to end, by any signal: then its standard input closes, and it ends the
 * postmaster and removes the files. It has its own session, so that Ctrl-C does not reach it.
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
