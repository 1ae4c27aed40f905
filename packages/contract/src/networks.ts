import { Type } from './schema.ts'

/** The most address ranges in a list. */
export const cidrsMax = 32

/** A list of address ranges as callers write it. The service stores each in its canonical form, with the prefix length. */
export const networksOf = ({ minItems = 0 } = {}) =>
  Type.Array(Type.String({ minLength: 2, maxLength: 64, examples: ['203.0.113.0/24'] }), {
    minItems,
    maxItems: cidrsMax,
    description: 'IPv4 or IPv6 ranges, or single addresses. No bit may be set after the prefix.',
  })
