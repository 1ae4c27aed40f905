import { randomBytes } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Scope } from '../feed/record.ts'

/**
 * Files of a node's own on a disk: whole or not there. The only part of the SDK that touches a disk, loaded only
 * where `cacheDir` is set. Nothing secret is written: a digest tells no key.
 */

const OTHERS_MAY_WRITE = 0o022
/** More keys than a store may have come to less. */
const FILE_MAX_BYTES = 1_500_000_000
/** What a process left that was killed while it wrote. */
const LEFTOVER_MS = 3_600_000

export class DiskRefusal extends Error {}

/**
 * @returns the path to work on. Of one that ends in a slash or a dot the system would look behind a symbolic link.
 * @throws DiskRefusal when others could plant a file in the directory
 * @throws Error when it cannot be made or looked at
 */
export async function openDirectory(named: string): Promise<string> {
  const path = resolve(named)
  await mkdir(path, { recursive: true, mode: 0o700 })
  const stats = await lstat(path)
  if (stats.isSymbolicLink()) throw new DiskRefusal('it is a symbolic link')
  if (!stats.isDirectory()) throw new DiskRefusal('it is no directory')
  checkOwner(stats)
  return path
}

/** One name for each project and environment: another reader finds the file, and judges whether it is for it. */
export const fileName = ({ projectId, env }: Scope): string => `policy-${projectId}-${env}`

/**
 * A whole file in a block of memory of its own; undefined where there is none.
 *
 * @throws DiskRefusal when others could have written it
 */
export async function readWhole(path: string): Promise<ArrayBuffer | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw new DiskRefusal('it is a symbolic link')
    throw error
  }
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new DiskRefusal('it is no file')
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

/** Puts a file in the place of the one there is, at once and for good: after a crash it is one of the two. */
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

/** Removes what was never put in its place. */
export async function removeLeftovers(directory: string, name: string, now: number): Promise<void> {
  for (const file of await readdir(directory)) {
    if (!file.startsWith(`${name}.`) || !file.endsWith('.tmp')) continue
    const path = join(directory, file)
    const stats = await lstat(path).catch(() => undefined)
    if (stats && now - stats.mtimeMs > LEFTOVER_MS) await rm(path, { force: true })
  }
}

/** Systems without users of this kind have no such bits. */
function checkOwner({ uid, mode }: Stats): void {
  if (process.getuid === undefined) return
  if (uid !== process.getuid()) throw new DiskRefusal('it belongs to another user')
  if ((mode & OTHERS_MAY_WRITE) !== 0) throw new DiskRefusal('its group, or everybody, may write to it')
}

/** Some systems cannot open a directory; there the rename is as safe as they make it. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
