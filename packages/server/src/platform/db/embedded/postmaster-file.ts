import { join } from 'node:path'
import { readOwnFile } from '../../own-files.ts'

/** What a running Postgres writes about itself into `postmaster.pid` (its `src/include/utils/pidfile.h`). */
export type PostmasterFile = { pid: number; port: number; socketDirectory: string; status: string }

/** Reads `postmaster.pid`; undefined when there is none, or it is not even written as far as the pid. */
export function readPostmasterFile(dataDirectory: string): PostmasterFile | undefined {
  try {
    const text = readOwnFile(join(dataDirectory, 'postmaster.pid'))
    return text === undefined ? undefined : parsePostmasterFile(text)
  } catch {
    // Not ours to read, or no file that Postgres has written.
    return undefined
  }
}

/** Line 1 pid, 4 port, 5 socket directory, 8 status (padded with blanks); the later ones come as it starts. */
export function parsePostmasterFile(text: string): PostmasterFile | undefined {
  const lines = text.split('\n').map(line => line.trim())
  const pid = Number(lines[0])
  // A single-user server writes its pid negated.
  if (!Number.isInteger(pid) || pid === 0) return undefined
  return {
    pid: Math.abs(pid),
    port: Number(lines[3] ?? 0),
    socketDirectory: lines[4] ?? '',
    status: lines[7] ?? 'starting',
  }
}
