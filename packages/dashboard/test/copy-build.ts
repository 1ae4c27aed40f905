import { cpSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { bundle } from '../bundle.ts'
import { readStamp } from '../stamp.ts'
import { readBuildOnDisk } from '../state.ts'

const dist = join(import.meta.dirname, '..', 'dist')

/**
 * Writes a build of the present sources into a folder. `npm test` has made one before its first test: a copy of that saves
 * each file the seconds of a build.
 */
export async function copyBuild(into: string): Promise<void> {
  const stamp = readStamp(dist)
  if (stamp === null || readBuildOnDisk().kind !== 'current') return await bundle(into)
  // The rest are files of earlier builds, and the stamp.
  const isOwn = (path: string) =>
    basename(dirname(path)) === 'assets'
      ? stamp.assets.includes(basename(path))
      : basename(path) !== 'built.json'
  cpSync(dist, into, { recursive: true, filter: isOwn })
}
