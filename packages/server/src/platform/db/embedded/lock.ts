import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { explainFullDisk } from '../../files/disk-full.ts'
import { readOwnFile, replaceOwnFile } from '../../files/own-files.ts'
import { startOf } from './processes.ts'
import { DirectoryHeld } from './refusal.ts'

/**
 * One service per data directory. The lock is a file `service.lock.N` that names its holder; the highest N
 * counts. A process takes it by creating N+1, which only one can, once the holder of N is known to be gone. The
 * highest file is never removed, so a decision about N cannot be overtaken: a process that finds a higher number
 * after creating its own withdraws. A killed holder leaves only a file that names a dead process.
 */
export type Lock = { release(): void }

type Holder = { pid: number; start: string; machine: string; released?: true }

const NAME = /^service\.lock\.(\d+)$/
/** How often a holder shows that it lives, for services in other containers, to which its pid means nothing. */
const BEAT_EVERY_MS = 2_000
/** A holder on another machine is watched for this long; a silent one has ended. */
const SILENCE_MS = 3 * BEAT_EVERY_MS

/**
 * Takes the lock of a directory.
 *
 * @param machine the scope in which pids are comparable; another container that shares the directory is another
 * machine
 * @throws DirectoryHeld naming the process that holds it
 */
export async function lockDirectory(directory: string, machine = thisMachine()): Promise<Lock> {
  const me: Holder = { pid: process.pid, start: startOf(process.pid) ?? '', machine }
  for (;;) {
    const last = highest(directory)
    const holder = last === undefined ? undefined : readHolder(join(directory, nameOf(last)))
    if (last !== undefined && holder && (await isHeld(join(directory, nameOf(last)), holder, machine))) {
      throw new DirectoryHeld(
        `Process ${holder.pid}${holder.machine === machine ? '' : ', in another container or on another machine,'} ` +
          `already runs Keyrail on ${directory}. Stop it first, or set another SERVICE_DATA_DIR for this one.`,
      )
    }
    const mine = (last ?? 0) + 1
    if (!claim(directory, mine, me)) continue
    if (highest(directory) !== mine) {
      rmSync(join(directory, nameOf(mine)), { force: true })
      continue
    }
    removeBelow(directory, mine)
    return heldLock(directory, mine, me)
  }
}

function heldLock(directory: string, number: number, me: Holder): Lock {
  const path = join(directory, nameOf(number))
  const beat = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date())
    } catch {
      // The directory was removed; Postgres will report that.
    }
  }, BEAT_EVERY_MS).unref()
  return {
    release() {
      clearInterval(beat)
      replace(path, { ...me, released: true })
    },
  }
}

async function isHeld(path: string, holder: Holder, machine: string): Promise<boolean> {
  if (holder.released) return false
  if (holder.machine === machine) return startOf(holder.pid) === holder.start
  // The file's age is not used: it would compare two clocks, which may differ by an hour.
  const seen = modified(path)
  for (const end = performance.now() + SILENCE_MS; performance.now() < end; await sleep(100)) {
    if (modified(path) !== seen) return true
  }
  return false
}

/** The pid namespace and the boot: container engines reuse the same pids. */
function thisMachine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return process.platform
  }
}

function nameOf(number: number): string {
  return `service.lock.${number}`
}

function numbers(directory: string): number[] {
  return readdirSync(directory).flatMap(name => Number(NAME.exec(name)?.[1] ?? []))
}

function highest(directory: string): number | undefined {
  const all = numbers(directory)
  return all.length > 0 ? Math.max(...all) : undefined
}

function removeBelow(directory: string, number: number): void {
  for (const older of numbers(directory)) {
    if (older < number) rmSync(join(directory, nameOf(older)), { force: true })
  }
}

/** A link appears with its content or not at all. */
function claim(directory: string, number: number, me: Holder): boolean {
  const draft = join(directory, `.lock-draft-${process.pid}`)
  // A draft of a killed process with the same pid is removed, not written through.
  rmSync(draft, { force: true })
  try {
    writeFileSync(draft, JSON.stringify(me), { mode: 0o644, flag: 'wx' })
    linkSync(draft, join(directory, nameOf(number)))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explainFullDisk(error, draft)
    return false
  } finally {
    rmSync(draft, { force: true })
  }
}

function replace(path: string, holder: Holder): void {
  try {
    replaceOwnFile(path, JSON.stringify(holder), 0o644)
  } catch {
    // It was removed with its directory, so there is nothing to release.
  }
}

function readHolder(path: string): Holder | undefined {
  // A newer holder has just removed it, and has a higher number.
  const text = readOwnFile(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Holder
  } catch {
    // Cut off by a full disk.
    return undefined
  }
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
