import { readFileSync } from 'node:fs'

/**
 * Contents of files that another process has read for this one, by path: if root starts the service, the process that listens
 * may not read every file.
 */
const told = new Map<string, string>()

/**
 * What a file of `NAME_FILE` holds now, without white space at its ends. Null: the file is empty, or cannot be read, for
 * example while it is replaced.
 */
export function readValueFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null
  } catch {
    return told.get(path) ?? null
  }
}

/** Records the content of a file that this process may not be able to read. */
export const noteValueFile = (path: string, text: string): void => void told.set(path, text)

/** How often this process reads a file for another process that cannot. */
const followMs = 1_000

/**
 * Reports each new content of files.
 * @returns a function that ends it.
 */
export function followValueFiles(
  paths: readonly string[],
  report: (path: string, text: string) => void,
): () => void {
  const last = new Map(paths.map(path => [path, readValueFile(path)]))
  const look = () => {
    for (const path of paths) {
      const text = readValueFile(path)
      if (text === null || text === last.get(path)) continue
      last.set(path, text)
      report(path, text)
    }
  }
  const timer = setInterval(look, followMs).unref()
  return () => clearInterval(timer)
}
