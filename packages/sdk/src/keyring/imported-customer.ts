/** Whose key your own check found. Name the customer by the tenant's id, or by your own id of it. */
export type ImportedCustomer = (
  | { tenantId: string; externalId?: undefined }
  | { externalId: string; tenantId?: undefined }
) & {
  /** The name of the key. */
  name?: string | undefined
  /** Default: none. */
  scopes?: readonly string[] | undefined
  meta?: Readonly<Record<string, unknown>> | undefined
  /** Milliseconds since the epoch. Default: never. */
  expiresAt?: number | null | undefined
  /** Makes the tenant of this `externalId` if there is none. Default: false. */
  createTenant?: boolean | undefined
}

/**
 * Your own check of a key, once for all requests with it, so it says whose key it is and not what they need. Null or undefined: the key is not valid. If it throws, or takes longer than 5,000 ms, the request is refused
 * for now, as `not_held`. It keeps one of 64 places until it ends.
 */
export type OnUnknownKey = (key: string) => Promise<ImportedCustomer | null | undefined>

/** A customer, read and completed. */
export interface Customer {
  readonly tenantId: string | undefined
  readonly externalId: string | undefined
  readonly name: string | undefined
  readonly scopes: readonly string[]
  readonly meta: Readonly<Record<string, unknown>> | undefined
  readonly expiresAt: number | null
  readonly createTenant: boolean
}

/** The last moment that a Date has. */
const DATE_MS_MAX = 8.64e15

/** Names a wrong field, and nothing of its value. */
export class CustomerError extends TypeError {}

/** @throws CustomerError naming the wrong field, so that a mistake of the check admits nobody */
export function readCustomer(given: unknown): Customer {
  if (typeof given !== 'object' || given === null) throw new CustomerError('it returned no object')
  const {
    tenantId,
    externalId,
    name,
    scopes = [],
    meta,
    expiresAt = null,
    createTenant = false,
  } = given as {
    readonly [Field in keyof Customer]?: unknown
  }
  if ((tenantId === undefined) === (externalId === undefined))
    throw new CustomerError('it must return tenantId or externalId')
  if (!isOptionalText(tenantId)) throw new CustomerError('tenantId must be a text')
  if (!isOptionalText(externalId)) throw new CustomerError('externalId must be a text')
  if (!isOptionalText(name)) throw new CustomerError('name must be a text')
  if (!Array.isArray(scopes) || !scopes.every(scope => typeof scope === 'string'))
    throw new CustomerError('scopes must be an array of scope names')
  if (meta !== undefined && (typeof meta !== 'object' || meta === null || Array.isArray(meta)))
    throw new CustomerError('meta must be an object')
  if (expiresAt !== null && (typeof expiresAt !== 'number' || !(Math.abs(expiresAt) <= DATE_MS_MAX)))
    throw new CustomerError('expiresAt must be a time in milliseconds, or null')
  if (typeof createTenant !== 'boolean') throw new CustomerError('createTenant must be a boolean')
  const frozen = meta === undefined ? undefined : Object.freeze({ ...meta })
  return {
    tenantId,
    externalId,
    name,
    scopes: Object.freeze([...scopes]),
    meta: frozen,
    expiresAt,
    createTenant,
  }
}

const isOptionalText = (value: unknown): value is string | undefined =>
  value === undefined || (typeof value === 'string' && value !== '')
