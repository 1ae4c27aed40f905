import { badResponse } from '../runtime/errors.ts'
import { Networks } from '../store/networks.ts'
import { isObject, isText, type Json } from './values.ts'

/** With it, answers list suspended tenants, and keys of these tenants are in the feed. Every node asks for it. */
export const SUSPENDED = 'suspended'

/** With it, answers have the networks of keys and tenants, and the keys that have any. Every node asks for it. */
export const CIDR = 'cidr'

/** With it, keys say when they are too old for their project. Otherwise they expire at that time. Every node asks for it. */
export const LIFETIME = 'lifetime'

/** With it, the feed has keys from elsewhere, and its answers say whether the project takes such keys. Every node asks for it. */
export const IMPORTED = 'imported'

/** A tenant of an answer whose features list `suspended` or `cidr`. Undefined members: the service does not say. */
export interface ListedTenant {
  tenantId: string
  /** Also true if `suspended` has a value that is new. */
  isSuspended: boolean | undefined
  /** Null: it has none. A list that cannot be read is `Networks.unreadable`. */
  networks: Networks | null | undefined
  /** The member that cannot be read. */
  unreadable: 'suspended' | 'allowed_cidrs' | undefined
}

/**
 * What an answer says of tenants. Undefined: the service says nothing.
 *
 * @throws KeyrailError `bad_response` if an entry names no tenant, because it may concern any
 */
export function readListed(
  { tenants }: Json,
  features: readonly string[],
): readonly ListedTenant[] | undefined {
  const [hasSuspended, hasNetworks] = [features.includes(SUSPENDED), features.includes(CIDR)]
  if (!hasSuspended && !hasNetworks) return undefined
  if (!Array.isArray(tenants)) throw badResponse('tenants')
  return tenants.map((each: unknown) => {
    if (!isObject(each) || !isText(each.tenant_id))
      throw badResponse('tenants, of which one has no tenant_id')
    const { tenant_id, suspended = false } = each
    const networks = hasNetworks ? readOfTenant(each.allowed_cidrs) : undefined
    const isNew = hasSuspended && typeof suspended !== 'boolean'
    return {
      tenantId: tenant_id,
      isSuspended: hasSuspended ? suspended !== false : undefined,
      networks,
      unreadable: isNew ? SUSPENDED : networks === Networks.unreadable ? 'allowed_cidrs' : undefined,
    }
  })
}

function readOfTenant(value: unknown): Networks | null {
  if (value === undefined) return null
  const networks = Networks.read(value) ?? Networks.unreadable
  return networks.isEmpty ? null : networks
}

export const tooManyTenants = (most: number) =>
  badResponse(
    `tenants, of which more are suspended or have networks than the ${most} keys that this node may hold`,
  )
