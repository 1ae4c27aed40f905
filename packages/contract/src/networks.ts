import { Type } from './schema.ts'
import { nullable } from './shared.ts'

/** The most address ranges in a list. */
export const cidrsMax = 32

/** A list of address ranges as callers write it. The service stores each in its canonical form, with the prefix length. */
export const networksOf = ({ minItems = 0 } = {}) =>
  Type.Array(Type.String({ minLength: 2, maxLength: 64, examples: ['203.0.113.0/24'] }), {
    minItems,
    maxItems: cidrsMax,
    description: 'IPv4 or IPv6 ranges, or single addresses. No bit may be set after the prefix.',
  })

/** The networks from which a key may be used. Null: those of its tenant. */
export const KeyNetworks = Type.Unsafe<string[] | null>({
  ...nullable(networksOf()),
  description:
    'The networks from which the key may be used: IPv4 or IPv6 ranges, or single addresses. Null: those of its tenant. Empty: any.',
})

/** The networks of those keys of a tenant that have none of their own. */
export const TenantNetworks = Type.Unsafe<string[]>({
  ...networksOf(),
  description:
    'The networks from which keys of the tenant may be used that have no list of their own. Empty: any.',
})
