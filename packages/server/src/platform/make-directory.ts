import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory and what is missing above it. Node's own recursive `mkdir` never returns where a file system, as
 * `/proc` does, says of a directory that can be seen that it is not there.
 *
 * @param mode of those that are made, but for what the process' umask takes away
 * @returns the uppermost that was made; undefined when it was there already
 * @throws the error of the system
 */
export function makeDirectories(path: string, mode: number): string | undefined {
  const target = resolve(path)
  const missing: string[] = []
  for (let at = target; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at))
    missing.push(at)
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory, mode)
    } catch (error) {
      // Another process has been faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  if (!statSync(target).isDirectory())
    throw Object.assign(new Error(`EEXIST: ${target} is there and no directory`), { code: 'EEXIST' })
  return missing[0]
}
