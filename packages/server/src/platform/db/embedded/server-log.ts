import {
  closeSync,
  constants,
  copyFileSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { openOwnLog } from '../../files/own-files.ts'

/** With its predecessor, the log takes at most twice this, apart from what is written between two checks. */
const LOG_BYTES_MAX = 10 * 1024 * 1024
/** The part at the end of a log that is quoted in an error message. */
const QUOTE_BYTES_MAX = 4096

export function sizeOfLog(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Moves a large log to `<path>.1`. It is copied and truncated, not renamed: Postgres keeps the file open and
 * appends to it, even after another process has adopted it.
 */
export function rotateLog(path: string, bytesMax = LOG_BYTES_MAX): void {
  if (sizeOfLog(path) <= bytesMax) return
  try {
    rmSync(`${path}.1`, { force: true })
    copyFileSync(path, `${path}.1`, constants.COPYFILE_EXCL)
  } catch {
    // Most likely the disk is full, and then space matters more than the old lines.
  }
  const file = openOwnLog(path)
  try {
    ftruncateSync(file)
  } finally {
    closeSync(file)
  }
}

/** The lines that were added to a log since, at most the last 4 KiB; empty if there are none. */
export function readLogFrom(path: string, start: number): string {
  const size = sizeOfLog(path)
  const position = Math.max(Math.min(start, size), size - QUOTE_BYTES_MAX)
  const buffer = Buffer.alloc(size - position)
  if (buffer.length === 0) return ''
  const file = openSync(path, 'r')
  try {
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, position)).trim()
  } finally {
    closeSync(file)
  }
}
