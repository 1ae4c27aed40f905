import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { importBytesMax } from '@keyrail/contract/vendor/imports'
import { CommandFailed } from '../../failure.ts'
import type { Progress, Work } from './progress-file.ts'
import type { Failed } from './send.ts'

/** A call has fewer bytes of rows, and as many of faults at most. */
const restMost = 16 * importBytesMax

export interface FailedRows {
  /** @returns the bytes of the file. */
  add(rows: readonly Failed[]): Promise<number>
  remove(): Promise<void>
  close(): Promise<void>
}

/**
 * The rows that failed, a line each with their faults. Corrected, it can be imported: keys stand in it as digests.
 * @param work the import, which each line names
 * @param begun what an earlier run has written; what stands behind it was not counted, and is written again
 * @throws {CommandFailed} if it lacks what the earlier run has written, or has something else
 */
export async function openFailedRows(
  work: Work,
  { failedBytes: bytes }: Pick<Progress, 'failedBytes'>,
): Promise<FailedRows> {
  const { failedPath: path } = work
  const mark = markOf(work)
  const size = (await fileAt(path))?.size ?? 0
  if (size < bytes)
    throw new CommandFailed(
      `${path} is missing, or is shorter than it was: it has the rows of this import that failed. Bring it back.`,
    )
  if (!(await isOwnRest(path, bytes, size, mark)))
    throw new CommandFailed(
      `${path} has changed since this import stopped, or has rows of another one. Keep these in another file, and bring the old one back.`,
    )
  const file = await openFile(path, bytes === 0 ? 'w' : 'r+')
  await file.truncate(bytes)
  let end = bytes
  return {
    async add(rows) {
      if (rows.length === 0) return end
      const lines = rows.map(
        ({ record, row, ended, errors }) =>
          `${JSON.stringify({ record, import: mark, ...row, ended, errors })}\n`,
      )
      const text = Buffer.from(lines.join(''))
      for (let from = 0; from < text.length; ) {
        const { bytesWritten } = await file.write(text, from, text.length - from, end + from)
        from += bytesWritten
      }
      end += text.length
      await file.sync()
      return end
    },
    remove: () => rm(path, { force: true }),
    close: () => file.close(),
  }
}

const markOf = (work: Work): string =>
  createHash('sha256').update(JSON.stringify(work)).digest('hex').slice(0, 16)

/**
 * Whether what stands behind the counted rows is what a killed run of this import has left there. Another import may have written there,
 * or somebody who corrects the rows.
 */
async function isOwnRest(path: string, from: number, size: number, mark: string): Promise<boolean> {
  if (size === from) return true
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read({
    buffer: Buffer.alloc(Math.min(size - from, restMost)),
    position: from,
  })
  const lines = buffer.toString('utf8', 0, bytesRead).split('\n')
  // The last one is empty, or not whole.
  return lines.slice(0, -1).every(line => rowIn(line).import === mark)
}

function rowIn(line: string): { import?: unknown } {
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}

/**
 * Finds out whether rows that fail can be written, before anything else is done.
 * @param isDry then nothing is made
 * @returns whether it made the file, which is empty
 * @throws {CommandFailed} if it is no file, or has rows of another import, which somebody may be correcting
 */
export async function prepareFailedRows(path: string, isDry: boolean): Promise<boolean> {
  const found = await fileAt(path)
  if (isDry) return false
  if ((found?.size ?? 0) > 0)
    throw new CommandFailed(
      `${path} has rows of an earlier import that failed. Import it, move it, or name another file with --failed.`,
    )
  await (await openFile(path, 'a')).close()
  return found === null
}

/** Null: there is none. @throws {CommandFailed} for a folder or a device */
async function fileAt(path: string): Promise<Stats | null> {
  const found = await stat(path).catch(() => null)
  if (found !== null && !found.isFile()) throw notFile(path)
  return found
}

const notFile = (path: string): CommandFailed =>
  new CommandFailed(
    `${path} is no regular file: rows that fail cannot be written there. Name one with --failed.`,
  )

async function openFile(path: string, flags: 'a' | 'w' | 'r+') {
  // A pipe would wait for its reader.
  await fileAt(path)
  const file = await open(path, flags, 0o600).catch((error: Error) => {
    throw new CommandFailed(`${path} cannot be written, for rows that fail: ${error.message}`)
  })
  // What stands there since must not be changed.
  if (!(await file.stat()).isFile()) {
    await file.close()
    throw notFile(path)
  }
  await file.chmod(0o600)
  return file
}
