/**
 * Files with secrets that no other account can change. `make-directory.ts` makes their directories, `value-file.ts`
 * reads a setting from a file, `disk-full.ts` says that the disk is full.
 */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { explainFullDisk } from './disk-full.ts'

/**
 * Files and directories with secrets: no other account may have made them, or be able to change them. A symbolic link is never
 * followed, because the account that made it decides what this account reads and writes.
 */

const othersMayWrite = 0o022

/** A path that others control or could control. The message says what to do. */
export class UnsafePath extends Error {
  override name = 'UnsafePath'
}

/** Other systems have no such bits. */
const ourUid = () => process.geteuid?.()

/**
 * Refuses a directory in which others could plant files. A missing one is safe.
 *
 * @param owners other accounts that may own it
 * @throws {UnsafePath} saying why, and what to do.
 */
export function refuseUnsafeDirectory(path: string, setting: string, owners: readonly number[] = []): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (stats.isSymbolicLink()) {
    throw new UnsafePath(
      `${path} is a symbolic link, and anyone who can change it decides where Keyrail’s files go. ` +
        `Set ${setting} to the directory itself${targetOf(path)}.`,
    )
  }
  if (!stats.isDirectory()) throw new UnsafePath(`${path} is not a directory. Set ${setting} to one.`)
  const uid = ourUid()
  if (uid === undefined) return
  if (stats.uid !== uid && !owners.includes(stats.uid)) {
    throw new UnsafePath(
      `${path} belongs to user id ${stats.uid}, and Keyrail runs as user id ${uid}: its owner could replace Keyrail’s files. ` +
        `Start as that user, change its owner with chown, or set ${setting} to another one.`,
    )
  }
  if ((stats.mode & othersMayWrite) !== 0) {
    throw new UnsafePath(
      `Others may write to ${path} (mode ${octal(stats)}) and could replace Keyrail’s files. ` +
        `Close it with chmod go-w, or set ${setting} to a new directory below it, which Keyrail makes private.`,
    )
  }
}

/**
 * Reads a small file of this account completely; undefined if it is missing.
 *
 * @throws {UnsafePath} if it is a link, or if others own it or can write to it
 */
export function readOwnFile(path: string): string | undefined {
  let file: number
  try {
    // A FIFO at this path must not block.
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw code === 'ELOOP' ? linkAt(path) : error
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new UnsafePath(`${path} is not a file. Remove it, and start again.`)
    refuseOwner(path, stats)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Replaces a file atomically, with the new one private from the start. */
export function replaceOwnFile(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    // Fails if anything is there, even a link.
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(file, text)
      // Sets the mode whatever the umask is.
      fchmodSync(file, mode)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw explainFullDisk(error, path)
  }
}

/**
 * Opens a file of this account for appending or truncating, and makes it if it is missing.
 *
 * @throws {UnsafePath} if it is a link
 */
export function openOwnLog(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? linkAt(path) : error
  }
}

/** Root may read another account's file, for example a command beside a service that runs as another account. */
function refuseOwner(path: string, { uid: owner, mode }: Stats): void {
  const uid = ourUid()
  if (uid === undefined) return
  if (uid !== 0 && owner !== uid && owner !== 0)
    throw new UnsafePath(`${path} belongs to another user (${owner}). Remove it, and start again.`)
  if ((mode & othersMayWrite) !== 0)
    throw new UnsafePath(`Others may write to ${path}. Check its contents, then close it with chmod go-w.`)
}

const linkAt = (path: string) =>
  new UnsafePath(`${path} is a symbolic link, which is not followed. Replace it with the file itself.`)

function targetOf(path: string): string {
  try {
    return `, ${realpathSync(path)}`
  } catch {
    return ''
  }
}

const octal = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0')
