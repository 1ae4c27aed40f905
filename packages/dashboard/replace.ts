import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readStamp, type Stamp, writeStamp } from './stamp.ts'

/** A tab that stays open loads parts of the build that it began with. */
const keptDaysMax = 7
/** Bounds the memory of the service while the dashboard is developed. */
const keptBuildsMax = 3

/**
 * Puts a new build in the place of the old one. The new build takes over hashed files of earlier ones, because tabs that
 * are open still ask for them.
 *
 * @param next the folder of the new build, on the same file system
 */
export function replaceBuild(build: string, next: string, sources: string, now = new Date()): void {
  const assets = readdirSync(join(next, 'assets'))
  const earlier = takeOver(build, next, assets, now)
  writeStamp(next, { sources, assets, earlier })
  openLike(next)
  const aside = `${next}-replaced`
  if (existsSync(build)) renameSync(build, aside)
  renameSync(next, build)
  rmSync(aside, { recursive: true, force: true })
}

function takeOver(build: string, next: string, assets: readonly string[], now: Date): Stamp['earlier'] {
  const old = readStamp(build)
  if (old === null) return []
  const oldest = now.getTime() - keptDaysMax * 86_400_000
  const earlier = [{ replacedAt: now.toISOString(), assets: old.assets }, ...old.earlier]
    .filter(({ replacedAt }) => Date.parse(replacedAt) >= oldest)
    .slice(0, keptBuildsMax)
  const missing = new Set(earlier.flatMap(one => one.assets)).difference(new Set(assets))
  for (const name of missing) {
    const from = join(build, 'assets', name)
    if (existsSync(from)) copyFileSync(from, join(next, 'assets', name))
  }
  return earlier
}

/** The process that serves may run as another account, so a build is as readable as its sources. */
function openLike(next: string): void {
  const folderMode = statSync(join(import.meta.dirname, 'src')).mode & 0o777
  const fileMode = statSync(join(import.meta.dirname, 'index.html')).mode & 0o666
  for (const entry of readdirSync(next, { recursive: true, withFileTypes: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? folderMode : fileMode)
  chmodSync(next, folderMode)
}
