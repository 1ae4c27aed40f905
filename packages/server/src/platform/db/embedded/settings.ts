/** Settings of `postgresql.conf`, by name. */
export type Settings = { [name: string]: string | number | boolean; port?: number }

/**
 * The settings of the embedded server. Everything about durability (fsync, full_page_writes, synchronous_commit)
 * keeps Postgres's safe default. It is reachable only through a socket, never over the network.
 */
const DEFAULTS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  port: 5432,
  max_connections: 100,
  shared_buffers: '128MB',
  wal_compression: true,
  // A new database grows tenfold in a minute, and until a vacuum it would plan queries by its old size.
  autovacuum_naptime: '10s',
  cluster_name: 'keyrail',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  // Statements and their values (addresses, hashes) stay out of this log. The service's own log has the failures
  // of requests, with the request's id.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
} satisfies Settings

/** The text of `postgresql.conf`: the defaults, overridden by the given settings, and the place of the socket. */
export function renderSettings(socketDirectory: string, extra: Settings = {}): string {
  const all: Settings = { ...DEFAULTS, ...extra, unix_socket_directories: quoteListElement(socketDirectory) }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${renderValue(value)}`)
  return ['# Rewritten at each start. Use ALTER SYSTEM for your settings, which is kept.', ...lines, ''].join(
    '\n',
  )
}

/** Beside those of the service: for commands, an operator and Postgres itself. */
const otherConnections = 30

/** More connections than by default, for a service that opens so many. */
export const connectionsFor = (ofService: number): Settings =>
  ofService + otherConnections > DEFAULTS.max_connections
    ? { max_connections: ofService + otherConnections }
    : {}

/** The port in the settings, which is part of the name of the socket's file. */
export function portOf(extra: Settings = {}): number {
  return Number(extra.port ?? DEFAULTS.port)
}

function renderValue(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return typeof value === 'number'
    ? String(value)
    : `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** unix_socket_directories is a comma-separated list, so a path with a comma needs double quotes. */
function quoteListElement(path: string): string {
  return /[\s,"]/.test(path) ? `"${path.replaceAll('"', '""')}"` : path
}
