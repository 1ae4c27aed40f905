import { resolve } from 'node:path'
import { DATABASE, readPassword, USER } from './cluster.ts'
import { findPlace, STATE_DIRECTORY } from './directory.ts'
import { layoutOf, listClusters } from './layout.ts'
import { findLeftover } from './leftover.ts'
import type { EmbeddedConnection } from './start.ts'

/**
 * How to reach the embedded Postgres of a data directory when it runs already, as under a service that is up;
 * undefined when it does not. For commands beside the service: it belongs to the one that started it.
 */
export function findRunningEmbedded(
  dataDir: string,
  stateDirectory = STATE_DIRECTORY,
): EmbeddedConnection | undefined {
  const base = findPlace(resolve(dataDir), stateDirectory)?.base
  const major = base === undefined ? undefined : listClusters(base).at(-1)
  if (base === undefined || major === undefined) return undefined
  const { dataDirectory, passwordFile } = layoutOf(base, major)
  const leftover = findLeftover(dataDirectory)
  const password = readPassword(passwordFile)
  if (leftover?.file.status !== 'ready' || !password) return undefined
  const { socketDirectory: host, port } = leftover.file
  return { host, port, user: USER, password, database: DATABASE }
}
