import { createWriteStream, openSync, rmSync, statSync, type WriteStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DumpRefused } from './refused.ts'

/**
 * Writes a file that appears once it is complete: as `FILE.partial`, readable only by its owner, then synced and renamed. If
 * the work fails or the process exits, the partial file is removed.
 * @param check looks at the complete file before it gets its name. If the check throws, no file appears.
 */
export async function writeWhole<T>(
  path: string,
  force: boolean,
  write: (out: WriteStream) => Promise<T>,
  check: (partial: string, result: T) => Promise<void>,
): Promise<T> {
  const there = statSync(path, { throwIfNoEntry: false })
  // With --force, a device or a directory must not be replaced.
  if (there && !there.isFile()) throw new DumpRefused(`${path} is not a file.`)
  if (there && !force) throw new DumpRefused(`${path} exists. Choose another name, or use --force.`)
  const partial = `${path}.partial`
  if (force) rmSync(partial, { force: true })
  const fd = create(partial)
  const clear = () => rmSync(partial, { force: true })
  // In the same turn of the event loop as the file's creation: a signal in between would leave the file.
  process.once('exit', clear)
  const out = createWriteStream('', { fd, flush: true })
  try {
    const result = await write(out).catch(error => {
      throw isFull(error) ? fullDisk(path, error) : error
    })
    await check(partial, result)
    await rename(partial, path)
    await syncDirectory(dirname(path))
    return result
  } catch (error) {
    out.destroy()
    clear()
    throw error
  } finally {
    process.off('exit', clear)
  }
}

const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String((error as { code?: unknown } | null)?.code))

const fullDisk = (path: string, cause: unknown) =>
  new DumpRefused(`${path} does not fit on its disk, which is full. Nothing of it was kept.`, { cause })

/** Only if it does not exist: another backup to the same file may be running. */
function create(partial: string): number {
  try {
    return openSync(partial, 'wx', 0o600)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new DumpRefused(reasons[code]?.(partial) ?? `${partial} cannot be written: ${message}`, {
      cause: error,
    })
  }
}

const reasons: Record<string, (partial: string) => string> = {
  EEXIST: partial =>
    `${partial} exists: another backup to this file is running, or one was killed. ` +
    'If none is running, remove it or use --force.',
  ENOSPC: partial => `${partial} cannot be written: its disk is full.`,
  ENOENT: partial => `The directory ${dirname(partial)} does not exist.`,
}

/** Without this, a crash of the machine could lose the new name. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
