import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { lockDirectory } from '../../platform/db/embedded/lock.ts'
import { DirectoryHeld } from '../../platform/db/embedded/refusal.ts'
import { CommandFailed } from '../failure.ts'

/**
 * A folder in which one process writes backups again and again. A backup is `keyrail-TIME.unchecked.keyrail.age` until it
 * was restored on trial, and `keyrail-TIME.keyrail.age` from then on, so that names alone say which ones count.
 */
export interface BackupFolder {
  /** The time of the newest backup, in ms; null without any. */
  newestAt(which: 'checked' | 'any'): number | null
  /** The time for a new backup: this one, or the next second that is free. */
  freeTime(nowMs: number): string
  uncheckedPath(time: string): string
  /** Gives a backup the name of a checked one, and returns its path. */
  accept(time: string): string
  /** Removes what a newer backup makes unnecessary. */
  prune(time: string, keep: number, isChecked: boolean): Pruned
  release(): void
}

interface Pruned {
  removed: readonly string[]
  /** Files with a time after the given one: a clock was or is wrong. They neither count nor are they removed. */
  later: readonly string[]
}

interface Entry {
  readonly name: string
  readonly time: string
  readonly isChecked: boolean
}

const pattern = /^keyrail-(\d{8}T\d{6}Z)(\.unchecked)?\.keyrail\.age$/
const leftover = /^keyrail-\d{8}T\d{6}Z\.unchecked\.keyrail\.age\.partial$/

/**
 * Takes the folder for this process, and removes what a killed one has left half-written.
 * @throws {CommandFailed} if another process has it.
 */
export async function openBackupFolder(path: string): Promise<BackupFolder> {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CommandFailed(`${path} is not a directory. With --every, give one for the backups.`)
  }
  const lock = await lockDirectory(path).catch(error => {
    if (!(error instanceof DirectoryHeld)) throw error
    throw new CommandFailed(`Another keyrail backup writes to ${path}. Stop it, or use another directory.`, {
      cause: error,
    })
  })
  for (const name of readdirSync(path)) if (leftover.test(name)) rmSync(join(path, name), { force: true })
  return folderAt(path, () => lock.release())
}

function folderAt(path: string, release: () => void): BackupFolder {
  const list = (): Entry[] =>
    readdirSync(path)
      .sort()
      .flatMap(name => {
        const [, time, unchecked] = pattern.exec(name) ?? []
        return time === undefined ? [] : [{ name, time, isChecked: unchecked === undefined }]
      })
  return {
    newestAt(which) {
      const times = list().filter(({ isChecked }) => isChecked || which === 'any')
      const newest = times
        .map(({ time }) => time)
        .sort()
        .at(-1)
      return newest === undefined ? null : msOf(newest)
    },
    freeTime(nowMs) {
      const taken = new Set(list().map(({ time }) => time))
      let ms = nowMs
      while (taken.has(timeOf(ms))) ms += 1000
      return timeOf(ms)
    },
    uncheckedPath: time => join(path, `keyrail-${time}.unchecked.keyrail.age`),
    accept(time) {
      const accepted = join(path, `keyrail-${time}.keyrail.age`)
      renameSync(join(path, `keyrail-${time}.unchecked.keyrail.age`), accepted)
      return accepted
    },
    prune(time, keep, isChecked) {
      const entries = list()
      const removed = unneeded(entries, time, keep, isChecked).map(({ name }) => name)
      for (const name of removed) rmSync(join(path, name), { force: true })
      return { removed, later: entries.filter(entry => entry.time > time).map(({ name }) => name) }
    },
    release,
  }
}

/**
 * The backup of that time counts as the newest, whatever other names say. A checked one replaces all unchecked ones before
 * it, and what is beyond `keep`; an unchecked one only others of its kind.
 */
function unneeded(entries: readonly Entry[], time: string, keep: number, isChecked: boolean): Entry[] {
  const before = entries.filter(entry => entry.time < time)
  const unchecked = before.filter(entry => !entry.isChecked)
  const alike = isChecked ? before.filter(entry => entry.isChecked) : unchecked
  const beyond = alike.slice(0, Math.max(alike.length - (keep - 1), 0))
  return isChecked ? [...unchecked, ...beyond] : beyond
}

/** RFC 3339 without marks and fractions, so that names sort by time and no file system refuses them. */
const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')

const msOf = (time: string): number =>
  Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
