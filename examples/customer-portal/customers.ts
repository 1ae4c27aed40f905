/** What the portal knows of a customer. `externalId` is its own id, by which Keyrail knows the tenant. */
export interface Customer {
  readonly externalId: string
  readonly name: string
  readonly email: string
  /** What its people may do with keys, and which scopes a key of theirs may have. */
  readonly scopes: readonly string[]
}

const scopes = ['keys:read', 'keys:write', 'key_scope:payments:read', 'key_scope:payments:write']

/** No password, since it is an example. */
export const customers: ReadonlyMap<unknown, Customer> = new Map(
  [
    { externalId: 'org_17', name: 'Globex', email: 'ann@globex.example', scopes },
    { externalId: 'org_23', name: 'Initech', email: 'bob@initech.example', scopes },
  ].map(one => [one.email, one]),
)
