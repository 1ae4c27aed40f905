import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Scope } from '../feed/record.ts'

/**
 * Files of a node: complete or absent. The only part of the SDK that touches a disk, loaded only if `cacheDir` is set. It
 * writes nothing secret: a key cannot be derived from its digest.
 */

const OTHERS_MAY_WRITE = 0o022
/** Larger than a store with the maximum number of keys. */
const FILE_MAX_BYTES = 1_500_000_000
/** Age of a temporary file whose writer was killed. */
const LEFTOVER_MS = 3_600_000

class DiskRefusal extends Error {}

/**
 * @returns the absolute path. It does not end in a slash or dot, with which the system would follow a symbolic link.
 * @throws DiskRefusal if others could put a file into the directory
 * @throws Error if it cannot be created or read
 */
export async function openDirectory(named: string): Promise<string> {
  const path = resolve(named)
  await makeDirectory(path)
  const stats = await lstat(path)
  if (stats.isSymbolicLink()) throw new DiskRefusal('it is a symbolic link')
  if (!stats.isDirectory()) throw new DiskRefusal('it is not a directory')
  checkOwner(stats)
  return path
}

/** Not with `recursive`: then Node tries for ever, on a whole core, where no directory can be made, such as in `/proc`. */
async function makeDirectory(path: string): Promise<void> {
  if (await lstat(path).catch(() => undefined)) return
  const make = () => mkdir(path, { mode: 0o700 })
  await make().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return
    if (error.code !== 'ENOENT') throw error
    await makeDirectory(dirname(path))
    await make().catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again
    })
  })
}

/** One name per project and environment, so that a reader with another scope finds the file and rejects it. */
export const fileName = ({ projectId, env }: Scope): string => `policy-${projectId}-${env}`

/**
 * A whole file, in an ArrayBuffer that nothing else uses; undefined if it does not exist.
 *
 * @throws DiskRefusal if others could have written it
 */
export async function readWhole(path: string): Promise<ArrayBuffer | undefined> {
  let handle: FileHandle
  try {
    // Opening a pipe would wait for its writer, and hold a thread of the process until then.
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new DiskRefusal('it is a symbolic link')
    throw error
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new DiskRefusal('it is not a file')
    checkOwner(stats)
    if (stats.size > FILE_MAX_BYTES) throw new DiskRefusal('it is too large')
    const file = new ArrayBuffer(stats.size)
    const bytes = new Uint8Array(file)
    let at = 0
    while (at < bytes.length) {
      const { bytesRead } = await handle.read(bytes, at, bytes.length - at, at)
      if (bytesRead === 0) return file.slice(0, at)
      at += bytesRead
    }
    return file
  } finally {
    await handle.close()
  }
}

/** Replaces a file atomically: after a crash it is either the old or the new one. */
export async function writeWhole(directory: string, name: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(directory, `${name}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, join(directory, name))
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
  await syncDirectory(directory)
}

/** Removes temporary files that were never renamed. */
export async function removeLeftovers(directory: string, name: string, now: number): Promise<void> {
  for (const file of await readdir(directory)) {
    if (!file.startsWith(`${name}.`) || !file.endsWith('.tmp')) continue
    const path = join(directory, file)
    const stats = await lstat(path).catch(() => undefined)
    if (stats && now - stats.mtimeMs > LEFTOVER_MS) await rm(path, { force: true })
  }
}

/** Systems without POSIX users have no such bits. */
function checkOwner({ uid, mode }: Stats): void {
  if (process.getuid === undefined) return
  if (uid !== process.getuid()) throw new DiskRefusal('it belongs to another user')
  if ((mode & OTHERS_MAY_WRITE) !== 0) throw new DiskRefusal('its group or others can write to it')
}

/** Some systems cannot open a directory; there the rename is as durable as they make it. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
