import { join } from 'node:path'

/** Where the things of one embedded Postgres lie. All absolute. */
export type Layout = {
  /** Ours; the account only passes through. */
  base: string
  /** The cluster itself, the account's own. Its name is the major version. */
  dataDirectory: string
  clusters: string
  passwordFile: string
  configFile: string
  logFile: string
  socketDirectory: string
}

export function layoutOf(base: string, major: number): Layout {
  const clusters = join(base, 'postgres')
  return {
    base,
    clusters,
    dataDirectory: join(clusters, String(major)),
    passwordFile: join(base, 'postgres-password'),
    configFile: join(base, 'postgresql.conf'),
    logFile: join(base, 'postgres.log'),
    socketDirectory: join(base, 'postgres', 'socket'),
  }
}
