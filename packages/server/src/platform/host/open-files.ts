import { readFileSync } from 'node:fs'

/**
 * How many files and connections this process may have open; null where the system does not say. Node raises the soft
 * limit to the hard one when it starts.
 */
export function openFilesMax(): number | null {
  try {
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === '' ? null : Number(soft)
  } catch {
    return null
  }
}
