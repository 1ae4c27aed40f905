import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A disk so small that it can be filled. */
export interface SmallDisk {
  /** A folder on it. */
  directory: string
  /** Fills it to the last byte. */
  fill(): void
  /** Removes the filling. */
  clear(): void
  grow(toMb: number): void
  unmount(): void
}

/** Whether this account may mount one. */
export const mayMount = process.geteuid?.() === 0

/**
 * @param sizeMb by default space for a cluster, about 60 MB with its log, and for some work.
 * @throws where mounting is not permitted: it takes root.
 */
export function mountSmallDisk(sizeMb = 160): SmallDisk {
  const mountPoint = mkdtempSync('/tmp/keyrail-disk-')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=755`, 'tmpfs', mountPoint], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  } catch (error) {
    rmdirSync(mountPoint)
    throw new Error('a disk to be filled could not be mounted; this outage takes root', { cause: error })
  }
  // However this process ends: at once, even if Postgres still uses it.
  const unmountLazily = () => {
    spawnSync('umount', ['-l', mountPoint])
    spawnSync('rmdir', [mountPoint])
  }
  process.once('exit', unmountLazily)
  const directory = join(mountPoint, 'data')
  mkdirSync(directory)
  chmodSync(directory, 0o755)
  const filler = join(mountPoint, 'filler')
  return {
    directory,
    fill: () => fillUp(filler),
    clear: () => rmSync(filler, { force: true }),
    grow: toMb => void execFileSync('mount', ['-o', `remount,size=${toMb}m`, mountPoint]),
    unmount() {
      process.off('exit', unmountLazily)
      execFileSync('umount', [mountPoint])
      rmdirSync(mountPoint)
    },
  }
}

function fillUp(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let size = 1 << 20; size >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(size))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        size >>= 1
      }
    }
  } finally {
    closeSync(file)
  }
}
