import type { Connection } from '../platform/db/connection.ts'

/** Why a Postgres could not be reached or used, in a person's words; null for an error of another kind. */
export function explainUnreachable(error: unknown, connection: Connection): string | null {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const place = `${connection.host ?? 'localhost'}:${connection.port ?? 5432}`
  const reason = reasons[String(code)] ?? (timeout.test(String(message)) ? 'gives no answer' : undefined)
  if (reason !== undefined) return `The database at ${place} ${reason}.`
  if (String(code).startsWith('28')) {
    return `The database at ${place} does not let the user "${connection.user ?? ''}" in: ${message}.`
  }
  if (code === '3D000') {
    const name = connection.database ?? ''
    return `There is no database "${name}" at ${place}. Create it first: createdb ${name}`
  }
  return null
}

const timeout = /^(timeout|Connection terminated due to connection timeout)/

/** Ends of the sentence that begins with where the database should be. */
const reasons: Record<string, string> = {
  ECONNREFUSED: 'cannot be reached: nothing listens there. Is Postgres started, and host and port right',
  ENOENT: 'cannot be reached: there is no such socket. Is Postgres started, and the path right',
  ENOTFOUND: 'cannot be reached: no such host name',
  EAI_AGAIN: 'cannot be reached: its host name cannot be looked up at the moment',
  EHOSTUNREACH: 'cannot be reached: there is no way to that host',
  ENETUNREACH: 'cannot be reached: there is no way to that network',
  ETIMEDOUT: 'gives no answer',
  ECONNRESET: 'closed the connection',
  '53300': 'has no connection left for us',
  '57P03': 'is starting up or shutting down; try again in a moment',
}
