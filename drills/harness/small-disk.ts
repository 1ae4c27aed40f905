import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** A disk so small that it can be filled. */
export interface SmallDisk {
  /** A folder on it. */
  directory: string
  /** Fills it to the last byte. */
  fill(): void
  /** Takes the filling away again. */
  clear(): void
  unmount(): void
}

/** Room for a cluster, about 60 MB with its log, and for some work. */
const sizeMb = 160

/** @throws where we may not mount: it takes root. */
export function mountSmallDisk(): SmallDisk {
  const mountPoint = mkdtempSync('/tmp/keyrail-disk-')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=755`, 'tmpfs', mountPoint], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  } catch (error) {
    rmdirSync(mountPoint)
    throw new Error('a disk to be filled could not be mounted; this outage takes root', { cause: error })
  }
  // However we end: at once, though Postgres may still lie on it.
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
