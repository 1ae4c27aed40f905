import { resolve } from 'node:path'
import { DATABASE, readPassword, SUPERUSER } from './cluster.ts'
import { findPlace, STATE_DIRECTORY } from './directory.ts'
import { type Layout, layoutOf, listClusters } from './layout.ts'
import { findLeftover } from './leftover.ts'
import { SERVICE_USER } from './service-login.ts'
import type { EmbeddedConnection } from './start.ts'

/**
 * How to reach the running embedded Postgres of a data directory; undefined if it is not running. For commands
 * beside the service: Postgres belongs to the service that started it.
 */
export function findRunningEmbedded(
  dataDir: string,
  stateDirectory = STATE_DIRECTORY,
): EmbeddedConnection | undefined {
  const base = findPlace(resolve(dataDir), stateDirectory)?.base
  const major = base === undefined ? undefined : listClusters(base).at(-1)
  if (base === undefined || major === undefined) return undefined
  const layout = layoutOf(base, major)
  const leftover = findLeftover(layout.dataDirectory)
  const login = readLogin(layout)
  if (leftover?.file.status !== 'ready' || !login) return undefined
  const { socketDirectory: host, port } = leftover.file
  return { host, port, ...login, database: DATABASE }
}

/** A running service of an earlier release only has the superuser's login. */
function readLogin({ servicePasswordFile, passwordFile }: Layout) {
  const own = readPassword(servicePasswordFile)
  if (own) return { user: SERVICE_USER, password: own }
  const password = readPassword(passwordFile)
  return password ? { user: SUPERUSER, password } : undefined
}
