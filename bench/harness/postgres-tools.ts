import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** How to reach a Postgres; `host` is a name, an address or the directory of a socket. */
export type Connection = { host: string; port: number; user: string; password: string; database: string }

/** Where Debian keeps the programs that it does not link into the path, `pg_test_fsync` among them. */
const DEBIAN = '/usr/lib/postgresql'

/** Path of a Postgres program, from PATH first, then from the newest version that Debian installed. */
export function findPostgresTool(name: 'pgbench' | 'psql' | 'pg_test_fsync'): string | undefined {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return [...path, ...debianFolders()].map(folder => join(folder, name)).find(isExecutable)
}

/** @throws Error that says what to install */
export function requirePostgresTool(name: 'pgbench' | 'psql'): string {
  const path = findPostgresTool(name)
  if (!path)
    throw new Error(
      `${name} is not installed; it comes with PostgreSQL (Debian: postgresql, postgresql-client)`,
    )
  return path
}

/** libpq's environment for a connection: no password on a command line, and no settings of the user. */
export function libpqEnvironment({ host, port, user, password, database }: Connection): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
  }
}

function debianFolders(): string[] {
  try {
    const versions = readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one))
    return versions.map(version => join(DEBIAN, version, 'bin'))
  } catch {
    return []
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
