/** Settings of `postgresql.conf`, by name. */
export type Settings = { [name: string]: string | number | boolean; port?: number }

/**
 * What the embedded server runs with. Everything about durability (fsync, full_page_writes,
 * synchronous_commit) keeps Postgres's own safe default. Reached through a socket only, never by network.
 */
const DEFAULTS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  port: 5432,
  max_connections: 100,
  shared_buffers: '128MB',
  wal_compression: true,
  // A young database grows tenfold in a minute, which is as long as it would plan by what it was before.
  autovacuum_naptime: '10s',
  cluster_name: 'keyrail',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
  // Statements and the values in them (addresses, hashes) stay out of the log; what failed in a request stands in
  // the service's own, with the request's id.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
} satisfies Settings

/** The text of `postgresql.conf`: the defaults, the given settings over them, and where the socket lies. */
export function renderSettings(socketDirectory: string, extra: Settings = {}): string {
  const all: Settings = { ...DEFAULTS, ...extra, unix_socket_directories: quoteListElement(socketDirectory) }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${renderValue(value)}`)
  return [
    '# Written anew at each start. For settings of your own use ALTER SYSTEM, which survives.',
    ...lines,
    '',
  ].join('\n')
}

/** The port the settings give: it is part of the socket's file name. */
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
