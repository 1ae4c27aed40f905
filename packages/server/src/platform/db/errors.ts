import { Refusal } from '../refusal.ts'
import type { ConstraintRefusals } from './connection.ts'
import { RightGone } from './right.ts'

/** The connection leads to a standby, for example through a pooler after a failover. */
const wrongServer = new Set([
  '25006', // read_only_sql_transaction
  '55000', // object_not_in_prerequisite_state: a lock that a standby cannot give
])

/** SQLSTATEs and socket errors after which the store may well answer again in a moment. */
const unavailable = new Set([
  ...wrongServer,
  '55P03', // lock_not_available: lock_timeout
  '57014', // query_canceled: statement_timeout
  '58030', // io_error
  '40001', // serialization_failure: also a read of a standby that its primary overtook
  '40P01', // deadlock_detected
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT', // the socket of a stopped Postgres
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
])

/** Messages of the driver that carry no code. */
const lost =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (was closed|has encountered)|Cannot use a pool after calling end)/

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/** Whether Postgres undid a transaction in favour of another one. A repetition may succeed. */
export const isUndone = (error: unknown) => ['40001', '40P01'].includes(codeOf(error))

/** Whether a statement waited for a lock until its time limit. */
export const isLockTimeout = (error: unknown) => codeOf(error) === '55P03'

/** The refusal that the statement declares for the violated constraint; any other error is returned as it is. */
export function declaredRefusal(refusals: ConstraintRefusals, error: unknown): unknown {
  const constraint = String((error as { constraint?: unknown } | null)?.constraint ?? '')
  const code = Object.hasOwn(refusals, constraint) ? refusals[constraint] : undefined
  return code === undefined ? error : new Refusal(code, '', { cause: error })
}

/**
 * Classes: connection_exception, invalid_authorization_specification (also while a password is changed),
 * insufficient_resources, operator_intervention.
 */
const unavailableClasses = ['08', '28', '53', '57P']

/** A missing grant. A row that its policy forbids has the same code, but is a fault of this code. */
const lacksRight = (error: unknown) =>
  codeOf(error) === '42501' && (error as { routine?: unknown }).routine !== 'ExecWithCheckOptions'

/** Whether the server refuses the login, or the database is missing. */
export const isLoginRefused = (error: unknown): boolean =>
  codeOf(error).startsWith('28') || codeOf(error) === '3D000'

/** Whether the store itself is at fault: away, full, overloaded, too slow, or closed to the service. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  return (
    unavailable.has(code) ||
    unavailableClasses.some(one => code.startsWith(one)) ||
    lacksRight(error) ||
    (error instanceof Error && lost.test(error.message))
  )
}

/**
 * Whether Postgres and this process disagree about what is prepared on a connection: a pooler reset the connection, or a
 * migration changed what a statement returns. The statement did not run, and no other statement would on this connection.
 */
export function isStatementForgotten(error: unknown): boolean {
  const code = codeOf(error)
  return (
    code.startsWith('26') || // invalid_sql_statement_name
    code === '42P05' || // duplicate_prepared_statement
    // feature_not_supported has many causes; this routine reports that a plan must not change its columns.
    (code === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery')
  )
}

/** Whether the connection of the statement is broken, or leads to the wrong server. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return (
    isStatementForgotten(error) ||
    wrongServer.has(code) ||
    code.startsWith('08') ||
    code.startsWith('57P') ||
    /^E[A-Z]+$/.test(code) ||
    (error instanceof Error && lost.test(error.message))
  )
}

/** Codes that concern one connection alone. */
const endedAlone = new Set([
  '57P05', // idle_session_timeout
  '08007', // transaction_resolution_unknown: a commit that waited in vain for a standby
])

/** Whether the cause that broke a connection has probably broken other connections too. */
export function isBroken(error: unknown): boolean {
  const cause = error instanceof LostUncommitted ? error.cause : error
  return isConnectionLost(cause) && !endedAlone.has(codeOf(cause)) && !isStatementForgotten(cause)
}

/** A transaction lost its connection before it sent COMMIT, so nothing is stored, and the transaction may run again. */
export class LostUncommitted extends Error {
  /** SQLSTATE connection_failure */
  readonly code = '08006'
}

const lostUncommitted = (cause: unknown) => new LostUncommitted('connection lost', { cause })

/** The error that a transaction throws for an error before its COMMIT was sent. */
export const beforeCommit = (error: unknown): unknown =>
  isConnectionLost(error) ? lostUncommitted(error) : error

/** The error that a transaction throws for an error of the flight that ends with its COMMIT. */
export const atCommit = (error: unknown): unknown =>
  isStatementForgotten(error) ? lostUncommitted(error) : error

/**
 * Turns an error of Postgres into one that a caller may see. An unknown error stays as it is and becomes a 500 without inner
 * detail.
 */
export function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal) return error
  if (isUnavailable(error)) return new Refusal('unavailable', '', { cause: error })
  const code = codeOf(error)
  if (code === 'KR401') return new RightGone('', { cause: error })
  if (code === 'KR404' || code === '23503') return new Refusal('not_found', '', { cause: error })
  if (code === '23514' || code === '23502' || code.startsWith('22')) {
    return new Refusal('validation_failed', 'A value is outside of the bounds of the store.', {
      cause: error,
    })
  }
  return error
}
