import { KeyrailError } from '../runtime/errors.ts'

/** A call may name a tenant by the vendor's own id, as `external:acme`, wherever it takes a tenant id. */

const PREFIX = 'external:'

/**
 * The external id in an id such as `external:acme`; undefined for any other id.
 *
 * @throws TypeError if nothing follows `external:`
 */
export function readExternalId(name: string, id: unknown): string | undefined {
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return undefined
  if (id === PREFIX) throw new TypeError(`${name} must have a tenant's externalId after ${PREFIX}`)
  return id.slice(PREFIX.length)
}

/** Replaces a `tenantId` such as `external:acme` by `externalId`. Fields with both are left for the service to reject. */
export function withTenantNamed<T extends object>(fields: T | undefined): object | undefined {
  const { tenantId, ...others }: { tenantId?: unknown; externalId?: unknown } = fields ?? {}
  const externalId = readExternalId('tenantId', tenantId)
  return externalId === undefined || others.externalId !== undefined ? fields : { ...others, externalId }
}

/** The error with which the service rejects an unknown tenant. */
export const noTenant = (externalId: string): KeyrailError =>
  new KeyrailError('not_found', `No tenant has the externalId ${JSON.stringify(externalId)}`, {
    status: 404,
    retryable: false,
  })
