import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listClusters } from './layout.ts'
import { EmbeddedRefused } from './refusal.ts'

/**
 * Postgres cannot read the files of another major version, so they are left alone and the start is refused with
 * what to do.
 *
 * @param base the directory that holds the clusters
 * @param major the version of the Postgres that is about to start
 */
export function refuseOtherMajor(base: string, major: number): void {
  const clusters = listClusters(base)
  if (clusters.includes(major)) return
  const last = clusters.at(-1)
  if (last === undefined) return
  const directory = join(base, 'postgres', String(last))
  throw new EmbeddedRefused(
    `The database in ${directory} was made by Postgres ${last}; this release of Keyrail has Postgres ${major} and ` +
      'leaves it as it is. To move it:\n' +
      '  with the release that made it:  keyrail backup keyrail.backup\n' +
      `  put the old database aside:     mv '${directory}' '${join(base, `postgres-${last}-old`)}'\n` +
      '  with this release:              keyrail restore keyrail.backup',
  )
}

/** Compares the version of a cluster with that of its folder's name, which may have been renamed. */
export function refuseMisnamed(dataDirectory: string, major: number): void {
  const found = readFileSync(join(dataDirectory, 'PG_VERSION'), 'utf8').trim()
  if (found === String(major)) return
  throw new EmbeddedRefused(
    `${dataDirectory} holds a database of Postgres ${found}, not ${major}: rename it to ${found}.`,
  )
}
