import type { KeyStatus } from '@keyrail/contract/vendor/keys'
import { mayBeSecret } from './whole-key.ts'

/** The filters of the list, as they stand in the address. */
export interface KeyFilters {
  readonly q?: string | undefined
  readonly status?: KeyStatus | undefined
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

const idShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** What the service accepts as search. */
export const searchLengthMax = 64

/** Reads an address that a person may have typed. */
export function readKeyFilters(search: Record<string, unknown>): KeyFilters {
  const { q, status, project, tenant } = search
  return {
    ...(typeof q === 'string' && q !== '' && !mayBeSecret(q) && { q: q.slice(0, searchLengthMax) }),
    ...(typeof status === 'string' && Object.hasOwn(statuses, status) && { status: status as KeyStatus }),
    ...(isId(project) && { project }),
    ...(isId(tenant) && { tenant }),
  }
}

export const isId = (value: unknown): value is string => typeof value === 'string' && idShape.test(value)
