import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { clearOrphans, type Launch, launchArguments, stopPostmaster } from './postmaster.ts'
import { type PostmasterFile, readPostmasterFile } from './postmaster-file.ts'
import { executableOf, processesIn, type Running } from './processes.ts'

/** A server of this data directory that runs although we did not start it. */
export type Leftover = { postmaster: Running; file: PostmasterFile }

const LOOK_EVERY_MS = 10

/**
 * The server that a killed service left running in this data directory. `postmaster.pid` alone is no proof: the
 * machine may have been restarted since, and the pid be another program's.
 */
export function findLeftover(dataDirectory: string): Leftover | undefined {
  const file = readPostmasterFile(dataDirectory)
  const postmaster = file && processesIn(dataDirectory).find(({ pid }) => pid === file.pid)
  return postmaster && { postmaster, file }
}

/**
 * Gives back the leftover server when it was started the way we would start it; otherwise makes room for one.
 *
 * @param signal breaks off the wait for one that is still starting
 */
export async function adoptLeftover(launch: Launch, signal?: AbortSignal): Promise<Running | undefined> {
  const leftover = await untilStarted(launch.dataDirectory, signal)
  if (leftover?.file.status === 'ready' && wasStartedLike(launch, leftover)) return leftover.postmaster
  await clearDirectories(launch)
  return undefined
}

/**
 * Ends what runs in the data directory, and removes its lock file: Postgres refuses to start while the pid in it
 * lives, whoever that is by now, and a zombie that nobody has collected counts as living.
 */
export async function endLeftover(dataDirectory: string): Promise<void> {
  const leftover = await untilStarted(dataDirectory)
  if (leftover) await stopPostmaster(dataDirectory, leftover.postmaster)
  await clearOrphans(dataDirectory)
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true })
}

/** The same for its socket too, which has a lock file of its own. */
export async function clearDirectories({ dataDirectory, socketDirectory }: Launch): Promise<void> {
  await endLeftover(dataDirectory)
  for (const name of readdirSync(socketDirectory)) {
    if (name.startsWith('.s.PGSQL.')) rmSync(join(socketDirectory, name), { force: true })
  }
}

/** One that is starting is given the time to finish: a recovery broken off begins again. */
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
  // An upgrade puts other binaries under the same path; then this one reads "… (deleted)".
  if (executable !== undefined && executable !== realpathSync(program)) return false
  const wanted = [program, ...launchArguments(launch).map(argument => `"${argument}"`)].join(' ')
  return readOptions(launch.dataDirectory) === wanted
}

/** `postmaster.opts` is the command line of the last start. */
function readOptions(dataDirectory: string): string {
  try {
    return readFileSync(join(dataDirectory, 'postmaster.opts'), 'utf8').trim()
  } catch {
    return ''
  }
}
