import type { Config } from '../config.ts'
import { type Connection, connectionFromUrl } from '../platform/db/connection.ts'

type Addresses = Pick<Config, 'databaseUrl' | 'databaseDirectUrl' | 'valueFiles'>

/** The database that the settings name, and the same one past a pooler; null: the embedded one. */
export function outsideConnections(config: Addresses): { connection: Connection; direct: Connection } | null {
  const { databaseUrl, databaseDirectUrl, valueFiles } = config
  if (databaseUrl === null) return null
  const connection = connectionFromUrl(databaseUrl, valueFiles.databaseUrl)
  const direct =
    databaseDirectUrl === null
      ? connection
      : connectionFromUrl(databaseDirectUrl, valueFiles.databaseDirectUrl)
  return { connection, direct }
}

/** Each of them once. */
export const allConnections = (config: Addresses): Connection[] => {
  const found = outsideConnections(config)
  return found === null ? [] : [...new Set([found.connection, found.direct])]
}
