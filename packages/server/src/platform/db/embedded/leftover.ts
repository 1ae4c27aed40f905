import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { clearOrphans, type Launch, launchArguments, stopPostmaster } from './postmaster.ts'
import { type PostmasterFile, readPostmasterFile } from './postmaster-file.ts'
import { executableOf, processesIn, type Running } from './processes.ts'

/** A server of this data directory that this process did not start. */
export type Leftover = { postmaster: Running; file: PostmasterFile }

const LOOK_EVERY_MS = 10

/**
 * Finds the server that a killed service left running in this data directory. `postmaster.pid` alone is no
 * proof: the machine may have restarted since, and another program may have the pid.
 */
export function findLeftover(dataDirectory: string): Leftover | undefined {
  const file = readPostmasterFile(dataDirectory)
  const postmaster = file && processesIn(dataDirectory).find(({ pid }) => pid === file.pid)
  return postmaster && { postmaster, file }
}

/**
 * Returns the leftover server if it was started as we would start it; otherwise ends it.
 *
 * @param signal ends the wait for one that is still starting
 */
export async function adoptLeftover(launch: Launch, signal?: AbortSignal): Promise<Running | undefined> {
  const leftover = await untilStarted(launch.dataDirectory, signal)
  if (leftover?.file.status === 'ready' && wasStartedLike(launch, leftover)) return leftover.postmaster
  await clearDirectories(launch)
  return undefined
}

/**
 * Ends the server in the data directory, and removes its lock file: Postgres refuses to start while any process
 * has the pid in it, even an uncollected zombie.
 */
export async function endLeftover(dataDirectory: string): Promise<void> {
  const leftover = await untilStarted(dataDirectory)
  if (leftover) await stopPostmaster(dataDirectory, leftover.postmaster)
  await clearOrphans(dataDirectory)
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true })
}

/** As `endLeftover`, and also for the socket, which has a separate lock file. */
export async function clearDirectories({ dataDirectory, socketDirectory }: Launch): Promise<void> {
  await endLeftover(dataDirectory)
  for (const name of readdirSync(socketDirectory)) {
    if (name.startsWith('.s.PGSQL.')) rmSync(join(socketDirectory, name), { force: true })
  }
}

/** Waits for a starting server, because an interrupted recovery begins again. */
async function untilStarted(dataDirectory: string, signal?: AbortSignal): Promise<Leftover | undefined> {
  for (;;) {
    const leftover = findLeftover(dataDirectory)
    if (leftover?.file.status !== 'starting') return leftover
    await sleep(LOOK_EVERY_MS, undefined, signal ? { signal } : {})
  }
}

function wasStartedLike(launch: Launch, { postmaster }: Leftover): boolean {
  const program = join(launch.binaries.bin, 'postgres')
  const executable = executableOf(postmaster.pid)
  // An upgrade replaces the binaries under the same path; then this reads "… (deleted)".
  if (executable !== undefined && executable !== realpathSync(program)) return false
  const wanted = [program, ...launchArguments(launch).map(argument => `"${argument}"`)].join(' ')
  return readOptions(launch.dataDirectory) === wanted
}

/** `postmaster.opts` has the command line of the last start. */
function readOptions(dataDirectory: string): string {
  try {
    return readFileSync(join(dataDirectory, 'postmaster.opts'), 'utf8').trim()
  } catch {
    return ''
  }
}
