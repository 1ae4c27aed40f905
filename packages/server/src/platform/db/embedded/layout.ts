import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Where the things of one embedded Postgres lie, all absolute. Everything but the cluster is the service's own. */
export type Layout = {
  /** Holds one cluster for each major version that ever ran here. */
  clusters: string
  /** The cluster itself, which the account owns. Its name is the major version. */
  dataDirectory: string
  /** Password of the superuser. */
  passwordFile: string
  /** Password of the service's login. */
  servicePasswordFile: string
  configFile: string
  logFile: string
  /** Where the socket goes when that path is short enough. */
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

/** Major versions of the clusters below a directory, ascending. One that is being created does not count yet. */
export function listClusters(base: string): number[] {
  const clusters = join(base, 'postgres')
  if (!existsSync(clusters)) return []
  return readdirSync(clusters)
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}
