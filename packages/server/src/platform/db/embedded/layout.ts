import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The absolute paths of one embedded Postgres. Everything but the cluster belongs to the service. */
export type Layout = {
  /** Holds one cluster for each major version that ever ran here. */
  clusters: string
  /** The cluster itself, which the account owns. Its name is the major version. */
  dataDirectory: string
  /** The superuser's password. */
  passwordFile: string
  /** The password of the service's login. */
  servicePasswordFile: string
  configFile: string
  logFile: string
  /** The directory of the socket if that path is short enough. */
  socketDirectory: string
}

export function layoutOf(base: string, major: number): Layout {
  const clusters = join(base, 'postgres')
  return {
    clusters,
    dataDirectory: join(clusters, String(major)),
    passwordFile: join(base, 'postgres-password'),
    servicePasswordFile: join(base, 'postgres-service-password'),
    configFile: join(base, 'postgresql.conf'),
    logFile: join(base, 'postgres.log'),
    socketDirectory: join(clusters, 'socket'),
  }
}

/** The major versions of the clusters below a directory, ascending, without one that is being created. */
export function listClusters(base: string): number[] {
  const clusters = join(base, 'postgres')
  if (!existsSync(clusters)) return []
  return readdirSync(clusters)
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}
