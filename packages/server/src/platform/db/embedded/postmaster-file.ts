import { join } from 'node:path'
import { readOwnFile } from '../../files/own-files.ts'

/** What a running Postgres writes into `postmaster.pid` (its `src/include/utils/pidfile.h`). */
export type PostmasterFile = { pid: number; port: number; socketDirectory: string; status: string }

/** Reads `postmaster.pid`; undefined if it is missing or has no complete pid yet. */
export function readPostmasterFile(dataDirectory: string): PostmasterFile | undefined {
  try {
    const text = readOwnFile(join(dataDirectory, 'postmaster.pid'))
    return text === undefined ? undefined : parsePostmasterFile(text)
  } catch {
    // It cannot be read, or Postgres did not write it.
    return undefined
  }
}

/** Line 1 pid, 4 port, 5 socket directory, 8 status (padded with blanks); the later ones appear during the start. */
export function parsePostmasterFile(text: string): PostmasterFile | undefined {
  const lines = text.split('\n').map(line => line.trim())
  const pid = Number(lines[0])
  // A single-user server writes a negative pid.
  if (!Number.isInteger(pid) || pid === 0) return undefined
  return {
    pid: Math.abs(pid),
    port: Number(lines[3] ?? 0),
    socketDirectory: lines[4] ?? '',
    status: lines[7] ?? 'starting',
  }
}
