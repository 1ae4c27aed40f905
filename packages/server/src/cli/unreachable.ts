import { type Connection, placeOf } from '../platform/db/connection.ts'
import { NoPrimary } from '../platform/db/failover/hosts.ts'

/** Explains why a Postgres could not be reached or used; null for other errors. */
export function explainUnreachable(error: unknown, connection: Connection): string | null {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (error instanceof NoPrimary) return `The database cannot be used: ${error.message}.`
  const place = placeOf(connection)
  const reason = reasons[String(code)] ?? (timeout.test(String(message)) ? 'does not respond' : undefined)
  if (reason !== undefined) return `The database at ${place} ${reason}.`
  const distrust = certificates[String(code)]
  if (distrust !== undefined) {
    return (
      `The database at ${place} shows a certificate ${distrust}. For a private authority add ` +
      `sslmode=verify-full&sslrootcert=FILE to the URL, with the path of its certificate.`
    )
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const { cert } = error as { cert?: { subjectaltname?: string; subject?: { CN?: string } } }
    const names = cert?.subjectaltname ?? cert?.subject?.CN ?? 'no name'
    return (
      `The database at ${place} shows a certificate for another name: it is for ${names}. ` +
      'Connect by a name that it has, or give the server a certificate for this one.'
    )
  }
  if (message === withoutTls) {
    return `The database at ${place} does not speak TLS, and the URL demands it. Set ssl = on and a certificate in Postgres.`
  }
  if (noPassword.test(String(message)))
    return (
      `The database at ${place} has no password for the user "${connection.user ?? ''}". ` +
      'Put it into DATABASE_URL, or into PGPASSWORD.'
    )
  if (String(code).startsWith('28')) {
    return `The database at ${place} refuses the user "${connection.user ?? ''}": ${message}.`
  }
  if (code === '3D000') {
    const name = connection.database ?? ''
    return `The database "${name}" does not exist at ${place}. Create it first: createdb ${name}`
  }
  return null
}

/** The driver says so when the server asks for a password and there is none. */
const noPassword = /password must be a string|no password supplied/

const timeout = /^(timeout|Connection terminated due to connection timeout)/

/** What the driver says; it has no code. */
const withoutTls = 'The server does not support SSL connections'

/** Ends of a sentence about a certificate, by the code of OpenSSL. */
const untrusted = 'that no trusted authority has signed'
const certificates: Record<string, string> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: 'that has expired',
  CERT_NOT_YET_VALID: 'that is not valid yet: check the clocks',
}

/** Ends of a sentence that begins with the address of the database. */
const reasons: Record<string, string> = {
  ECONNREFUSED:
    'cannot be reached: nothing listens there. Check that Postgres is running, and the host and port',
  ENOENT: 'cannot be reached: its socket does not exist. Check that Postgres is running, and the path',
  ENOTFOUND: 'cannot be reached: the host name is unknown',
  EAI_AGAIN: 'cannot be reached: its host name cannot be looked up at the moment',
  EHOSTUNREACH: 'cannot be reached: no route to the host',
  ENETUNREACH: 'cannot be reached: no route to the network',
  ETIMEDOUT: 'does not respond',
  ECONNRESET: 'closed the connection',
  '53300': 'has no free connection',
  '57P03': 'is starting up or shutting down; try again in a moment',
}
