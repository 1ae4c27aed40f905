import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the last build of these sources failed with, for `keyrail doctor`. A build that works removes it. */
interface Failure {
  /** The digest of the sources. */
  readonly sources: string
  readonly output: string
}

const path = join(import.meta.dirname, '.build-failed.json')

/** On a full disk there is none: the reason of the build matters, and not that of its note. */
export function writeFailure(failure: Failure): void {
  try {
    writeFileSync(path, `${JSON.stringify(failure, null, 2)}\n`)
  } catch {
    removeFailure()
  }
}

export const removeFailure = (): void => rmSync(path, { force: true })

/** Null if the last build worked, or its failure cannot be read. */
export function readFailure(): Failure | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
