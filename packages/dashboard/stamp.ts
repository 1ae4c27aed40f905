import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What `built.json` in the folder of a build says of it. The service compares it only as text. */
export interface Stamp {
  /** The digest of its sources. */
  readonly sources: string
  /** Its hashed files. */
  readonly assets: readonly string[]
  /** The builds before it whose files it still has, the newest first. */
  readonly earlier: readonly { readonly replacedAt: string; readonly assets: readonly string[] }[]
}

const pathIn = (build: string) => join(build, 'built.json')

/** Null if the build is missing, or another command has made it. */
export function readStamp(build: string): Stamp | null {
  try {
    return JSON.parse(readFileSync(pathIn(build), 'utf8'))
  } catch {
    return null
  }
}

export const writeStamp = (build: string, stamp: Stamp): void =>
  writeFileSync(pathIn(build), `${JSON.stringify(stamp, null, 2)}\n`)
