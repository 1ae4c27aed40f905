import { createWriteStream, openSync, rmSync, statSync, type WriteStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DumpRefused } from './refused.ts'

/**
 * Lets a file be written that is whole as soon as it is there: under the name `FILE.partial`, readable by
 * its owner alone, then synced and renamed. When the work fails or the process exits, the partial file goes.
 */
export async function writeWhole<T>(
  path: string,
  force: boolean,
  write: (out: WriteStream) => Promise<T>,
): Promise<T> {
  const there = statSync(path, { throwIfNoEntry: false })
  // With --force, a device or a directory must not be put out of its place.
  if (there && !there.isFile()) throw new DumpRefused(`${path} is not a file.`)
  if (there && !force) throw new DumpRefused(`${path} exists. Give another name, or --force.`)
  const partial = `${path}.partial`
  if (force) rmSync(partial, { force: true })
  const fd = create(partial)
  const clear = () => rmSync(partial, { force: true })
  // In the same turn: a signal that comes between would leave the file.
  process.once('exit', clear)
  const out = createWriteStream('', { fd, flush: true })
  try {
    const result = await write(out)
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

/** Only if it is not there: another backup to the same file may be under way. */
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
    'If none is running, remove it or give --force.',
  ENOENT: partial => `There is no directory ${dirname(partial)}.`,
}

/** Without it, a crash of the machine could forget the new name. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
