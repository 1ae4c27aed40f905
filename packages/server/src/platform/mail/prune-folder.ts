import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** How long a message in a folder is kept. */
const folderDays = 30
/** Beyond this number of messages, the oldest are removed. */
const folderFiles = 10_000
/** Beyond this total size, the oldest are removed too: 256 MiB. */
const folderBytes = 268_435_456
/** A partial file of this age was abandoned. */
const partialHours = 24

const dayMs = 86_400_000
const written = /^(\.?)(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d\.\d{3})Z-[a-z_]+-[0-9a-f]{12}\.eml(\.partial)?$/

/**
 * Removes messages that are too old or too many. It only considers files with names in the format of this service, which
 * contain the time of the message; other files stay.
 *
 * @param now in milliseconds
 * @returns how many were removed
 */
export async function pruneFolder(
  path: string,
  now: number,
  { files = folderFiles, bytes = folderBytes }: { files?: number; bytes?: number } = {},
): Promise<number> {
  // Newest first: names sort by time.
  const names = (await readdir(path))
    .filter(name => written.test(name))
    .sort()
    .reverse()
  let [count, size, removed] = [0, 0, 0]
  for (const name of names) {
    const age = now - timeOf(name)
    const isPartial = name.endsWith('.partial')
    if (isPartial && age <= (partialHours * dayMs) / 24) continue
    if (!isPartial && age <= folderDays * dayMs && count < files) {
      count += 1
      size += (await lstat(join(path, name)).catch(() => null))?.size ?? 0
      // The newest message stays, however large it is.
      if (size <= bytes || count === 1) continue
    }
    await rm(join(path, name), { force: true })
    removed += 1
  }
  return removed
}

function timeOf(name: string): number {
  const [, , year, month, day, hour, minute, second] = written.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}
