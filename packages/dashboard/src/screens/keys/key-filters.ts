import type { KeyHygiene, KeyStatus } from '@keyrail/contract/vendor/keys'
import { mayBeSecret } from './whole-key.ts'

/** The filters of the list, as they stand in the address. */
export interface KeyFilters {
  readonly q?: string | undefined
  readonly status?: KeyStatus | undefined
  /** Takes the place of `q` and `status`. */
  readonly hygiene?: keyof typeof hygienes | undefined
  readonly project?: string | undefined
  readonly tenant?: string | undefined
}

export const statuses: Readonly<Record<KeyStatus, string>> = {
  active: 'Active',
  expiring: 'Expires within 14 days',
  disabled: 'Paused',
  expired: 'Expired',
  revoked: 'Revoked',
}

/** What keys should be looked after for. Keys that expire soon are a status. */
export const hygienes: Readonly<Record<Exclude<KeyHygiene, 'expiring'>, string>> = {
  never_expires: 'Never expires',
  idle: 'Not used for 90 days',
  unused: 'Never used in 90 days',
  // Each project has its own rule.
  too_old: 'Too old',
}

const idShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** What the service accepts as search. */
export const searchLengthMax = 64

/** Reads an address that a person may have typed. */
export function readKeyFilters(search: Record<string, unknown>): KeyFilters {
  const { q, status, hygiene, project, tenant } = search
  const isLookedAfter =
    typeof hygiene === 'string' &&
    Object.hasOwn(hygienes, hygiene) &&
    (hygiene !== 'too_old' || isId(project))
  if (isLookedAfter)
    return {
      hygiene: hygiene as KeyFilters['hygiene'],
      ...(isId(project) && { project }),
      ...(isId(tenant) && { tenant }),
    }
  return {
    ...(typeof q === 'string' && q !== '' && !mayBeSecret(q) && { q: q.slice(0, searchLengthMax) }),
    ...(typeof status === 'string' && Object.hasOwn(statuses, status) && { status: status as KeyStatus }),
    ...(isId(project) && { project }),
    ...(isId(tenant) && { tenant }),
  }
}

export const isId = (value: unknown): value is string => typeof value === 'string' && idShape.test(value)
