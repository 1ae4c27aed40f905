/** Why a database that answers refuses work, by SQLSTATE: each reason needs another action of the operator. */
const reasons = {
  // A provider makes a database read-only when its disk is nearly full; a standby is read-only too.
  '25006': 'read_only',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '58030': 'io_error',
} as const

export type RefusalReason = (typeof reasons)[keyof typeof reasons]
export const refusalReasons: readonly RefusalReason[] = Object.values(reasons)

export interface RefusalObserver {
  /** The database refused a statement, or a connection. */
  databaseRefused(reason: RefusalReason): void
}

/** Counts an error, if it is a `DatabaseRefusal`. */
export function countRefusal(observer: RefusalObserver, error: unknown): void {
  const code = String((error as { code?: unknown } | null)?.code)
  if (Object.hasOwn(reasons, code)) observer.databaseRefused(reasons[code as keyof typeof reasons])
}
