import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a directory and its missing parents. Node's own recursive `mkdir` never returns if a file system, such
 * as `/proc`, reports a visible directory as missing.
 *
 * @param mode for the new ones, minus the process's umask
 * @returns the uppermost new directory; undefined if there was none
 * @throws the system's error
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
      // Another process was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  if (!statSync(target).isDirectory())
    throw Object.assign(new Error(`EEXIST: ${target} exists and is not a directory`), { code: 'EEXIST' })
  return missing[0]
}
