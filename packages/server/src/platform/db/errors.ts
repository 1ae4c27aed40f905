import type { ErrorCode } from '@keyrail/contract/errors'
import { Refusal } from '../refusal.ts'
import { RightGone } from './right.ts'

/** Constraints that a well-formed request can run into, and what it is told. */
const refusals: Record<string, ErrorCode> = {
  workspace_slugs_pkey: 'slug_taken',
  projects_slug_unique: 'slug_taken',
  tenants_external_id_unique: 'external_id_taken',
}

/** read_only_sql_transaction: the connection leads to a standby, as through a pooler after a fail-over. */
const readOnly = '25006'

/** SQLSTATEs and socket errors after which the store may well answer again in a moment. */
const unavailable = new Set([
  readOnly,
  '53000',
  '53100', // disk_full
  '53200',
  '53300', // too_many_connections
  '55P03', // lock_not_available: lock_timeout
  '57014', // query_canceled: statement_timeout
  '57P01',
  '57P02',
  '57P03', // cannot_connect_now: starting up or shutting down
  '58030', // io_error
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT', // the socket of a stopped Postgres
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

/** Messages of the driver that carry no code. */
const lost =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (was closed|has encountered)|Cannot use a pool after calling end)/

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

export const isDeadlock = (error: unknown) => codeOf(error) === '40P01'

/** Whether a statement has waited for a lock for as long as it may. */
export const isLockTimeout = (error: unknown) => codeOf(error) === '55P03'

/** Whether the store itself is at fault: gone, full, overloaded or too slow. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  return (
    unavailable.has(code) || code.startsWith('08') || (error instanceof Error && lost.test(error.message))
  )
}

/** Whether the connection a statement ran on can no longer be used, or leads to the wrong server. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  return (
    code === readOnly ||
    code.startsWith('08') ||
    code.startsWith('57P') ||
    /^E[A-Z]+$/.test(code) ||
    (error instanceof Error && lost.test(error.message))
  )
}

/**
 * Turns what Postgres says into what a caller may hear. What is not known here stays as it is and
 * becomes a 500 without inner detail.
 */
export function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal) return error
  if (isUnavailable(error) || isDeadlock(error)) return new Refusal('unavailable', '', { cause: error })
  const code = codeOf(error)
  if (code === 'KR401') return new RightGone('', { cause: error })
  const constraint = String((error as { constraint?: unknown }).constraint ?? '')
  const known = refusals[constraint]
  if (known !== undefined) return new Refusal(known, '', { cause: error })
  if (code === 'KR404' || code === '23503') return new Refusal('not_found', '', { cause: error })
  if (code === '23514' || code === '23502' || code.startsWith('22')) {
    return new Refusal('validation_failed', 'A value is outside of the bounds of the store.', {
      cause: error,
    })
  }
  return error
}
