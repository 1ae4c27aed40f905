import { badResponse } from '../runtime/errors.ts'
import { isObject, isText, type Json } from './values.ts'

/** With it, answers list suspended tenants, and keys of these tenants are in the feed. Every node asks for it. */
export const SUSPENDED = 'suspended'

/** A tenant of an answer whose features list `suspended`. */
export interface ListedTenant {
  tenantId: string
  isSuspended: boolean
  /** `suspended` has a value that is new, so the tenant counts as suspended. */
  isUnreadable: boolean
}

/**
 * Which tenants of an answer are suspended. Undefined: the service does not say.
 *
 * @throws KeyrailError `bad_response` if an entry names no tenant, because it may suspend any
 */
export function readSuspended(
  { tenants }: Json,
  features: readonly string[],
): readonly ListedTenant[] | undefined {
  if (!features.includes(SUSPENDED)) return undefined
  if (!Array.isArray(tenants)) throw badResponse('tenants')
  return tenants.map((each: unknown) => {
    if (!isObject(each) || !isText(each.tenant_id))
      throw badResponse('tenants, of which one has no tenant_id')
    const { tenant_id, suspended = false } = each
    const isUnreadable = typeof suspended !== 'boolean'
    return { tenantId: tenant_id, isSuspended: suspended !== false, isUnreadable }
  })
}

export const tooManySuspended = (most: number) =>
  badResponse(`tenants, of which more are suspended than the ${most} keys that this node may hold`)
