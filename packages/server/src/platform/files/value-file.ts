import { readFileSync } from 'node:fs'

/** What another process has read for this one, by path: started by root, the process that listens may not read every file. */
const told = new Map<string, string>()

/**
 * What a file of `NAME_FILE` holds now, without white space at its ends. Null: it is empty, or cannot be read, as for the moment
 * in which it is replaced.
 */
export function readValueFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null
  } catch {
    return told.get(path) ?? null
  }
}

/** Notes what a file holds that this process may not be able to read. */
export const noteValueFile = (path: string, text: string): void => void told.set(path, text)

/** How often a file is read that another process cannot read itself. */
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
