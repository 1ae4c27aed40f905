import { KeyrailError } from '../runtime/errors.ts'

/** A call may name a tenant by the vendor's own id, as `external:acme`, wherever it takes a tenant id. */

const PREFIX = 'external:'

export interface NamedTenant {
  id: string
  external_id: string
}

/**
 * The external id in an id such as `external:acme`; undefined for any other id.
 *
 * @throws TypeError if nothing follows `external:`
 */
export function readExternalId(name: string, id: unknown): string | undefined {
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return undefined
  if (id === PREFIX) throw new TypeError(`${name} must have a tenant's external_id after ${PREFIX}`)
  return id.slice(PREFIX.length)
}

/** Replaces a `tenant_id` such as `external:acme` by `external_id`. Fields with both are left for the service to reject. */
export function withTenantNamed<T extends object>(fields: T | undefined): object | undefined {
  const { tenant_id, ...others }: { tenant_id?: unknown; external_id?: unknown } = fields ?? {}
  const external_id = readExternalId('tenant_id', tenant_id)
  return external_id === undefined || others.external_id !== undefined ? fields : { ...others, external_id }
}

/** The error with which the service rejects an unknown tenant. */
export const noTenant = (externalId: string): KeyrailError =>
  new KeyrailError('not_found', `No tenant has the external_id ${JSON.stringify(externalId)}`, {
    status: 404,
    docUrl: 'https://keyrail.dev/errors/not_found',
    retryable: false,
  })
