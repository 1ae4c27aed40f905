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

/**
 * Files and directories that hold our secrets: nobody else may have put them there, or be able to. A symbolic link is
 * never followed, because who may set one decides what is read and written as us.
 */

const othersMayWrite = 0o022

/** A path that others control, or could; the message says what to do. */
export class UnsafePath extends Error {
  override name = 'UnsafePath'
}

/** Systems without users of this kind have no such bits. */
const ourUid = () => process.geteuid?.()

/**
 * Refuses a directory in which others could plant files. One that is missing is not unsafe.
 *
 * @param owners who else may own it, beside ourselves
 * @throws {UnsafePath} saying why, and what to do.
 */
export function refuseUnsafeDirectory(path: string, setting: string, owners: readonly number[] = []): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (stats.isSymbolicLink()) {
    throw new UnsafePath(
      `${path} is a symbolic link, and whoever can change it decides where our files go. ` +
        `Set ${setting} to the directory itself${targetOf(path)}.`,
    )
  }
  if (!stats.isDirectory()) throw new UnsafePath(`${path} is no directory. Set ${setting} to one.`)
  const uid = ourUid()
  if (uid === undefined) return
  if (stats.uid !== uid && !owners.includes(stats.uid)) {
    throw new UnsafePath(
      `${path} belongs to user id ${stats.uid}, and we run as user id ${uid}: its owner could replace our files. ` +
        `Start as that user, give the directory away with chown, or set ${setting} to another one.`,
    )
  }
  if ((stats.mode & othersMayWrite) !== 0) {
    throw new UnsafePath(
      `Others may write to ${path} (mode ${octal(stats)}) and could replace our files. ` +
        `Close it with chmod go-w, or set ${setting} to a directory below it, which is made closed.`,
    )
  }
}

/**
 * Reads a small file of ours whole; undefined when there is none.
 *
 * @throws {UnsafePath} when it is a link, or others own it or may write to it
 */
export function readOwnFile(path: string): string | undefined {
  let file: number
  try {
    // A FIFO in its place must not make us wait.
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw code === 'ELOOP' ? linkAt(path) : error
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new UnsafePath(`${path} is no file. Remove it, and start again.`)
    refuseOwner(path, stats)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Puts a file in the place of the one there is: whole or not at all, and for nobody else from the first moment. */
export function replaceOwnFile(path: string, text: string, mode = 0o600): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    // Fails when anything is there, a link included.
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(file, text)
      // Whatever the umask.
      fchmodSync(file, mode)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/**
 * Opens a file of ours to add to it or to cut it, and makes it when it is missing.
 *
 * @throws {UnsafePath} when it is a link
 */
export function openOwnLog(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ELOOP' ? linkAt(path) : error
  }
}

/** Root may read what is another's: a command beside a service that runs as somebody else. */
function refuseOwner(path: string, { uid: owner, mode }: Stats): void {
  const uid = ourUid()
  if (uid === undefined) return
  if (uid !== 0 && owner !== uid && owner !== 0)
    throw new UnsafePath(`${path} belongs to another user (${owner}). Remove it, and start again.`)
  if ((mode & othersMayWrite) !== 0)
    throw new UnsafePath(`Others may write to ${path}. Look at what it holds, then close it with chmod go-w.`)
}

const linkAt = (path: string) =>
  new UnsafePath(`${path} is a symbolic link, which is not followed. Put the file itself in its place.`)

function targetOf(path: string): string {
  try {
    return `, ${realpathSync(path)}`
  } catch {
    return ''
  }
}

const octal = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0')
