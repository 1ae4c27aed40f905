import { open, rm, stat } from 'node:fs/promises'
import { CommandFailed } from '../../failure.ts'
import type { Failed } from './send.ts'

export interface FailedRows {
  /** @returns the bytes of the file. */
  add(rows: readonly Failed[]): Promise<number>
  remove(): Promise<void>
  close(): Promise<void>
}

/**
 * The rows that failed, a line each with their faults. Corrected, it can be imported: keys stand in it as digests.
 * @param bytes what an earlier run has written; what stands behind it was not counted, and is written again
 * @throws {CommandFailed} if it lacks what the earlier run has written
 */
export async function openFailedRows(path: string, bytes: number): Promise<FailedRows> {
  if (bytes > 0 && ((await sizeOf(path)) ?? 0) < bytes)
    throw new CommandFailed(
      `${path} is missing, or is shorter than it was: it has the rows of this import that failed. Bring it back.`,
    )
  const file = await open(path, bytes === 0 ? 'w' : 'r+', 0o600)
  await file.chmod(0o600)
  await file.truncate(bytes)
  let end = bytes
  return {
    async add(rows) {
      if (rows.length === 0) return end
      const lines = rows.map(({ record, row, errors }) => `${JSON.stringify({ record, ...row, errors })}\n`)
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

/** @throws {CommandFailed} if a file has rows of another import, which somebody may be correcting */
export async function refuseFailedRows(path: string): Promise<void> {
  if (((await sizeOf(path)) ?? 0) > 0)
    throw new CommandFailed(
      `${path} has rows of an earlier import that failed. Import it, move it, or name another file with --failed.`,
    )
}

const sizeOf = async (path: string): Promise<number | null> =>
  (await stat(path).catch(() => null))?.size ?? null
