import { randomUUID } from 'node:crypto'
import type { HttpRequest, RequestSource } from '../harness/request.ts'
import type { Vendor } from './vendor.ts'

/** What the benches create: a key in each of the workspaces in turn, or tenants in one of them. */

const json = { 'content-type': 'application/json' }
const as = ({ token }: Vendor) => ({ ...json, authorization: `Bearer ${token}` })

/**
 * A key for each tenant of each vendor in turn, vendors first. The same bytes each time: the load encodes them once.
 */
export function keyCreations(vendors: readonly Vendor[]): RequestSource {
  const tenants = Math.max(...vendors.map(vendor => vendor.tenantIds.length))
  return Array.from({ length: tenants }, (_, n) => n).flatMap(n =>
    vendors.map(vendor => ({
      method: 'POST' as const,
      path: '/v1/keys',
      headers: as(vendor),
      body: JSON.stringify(keyOf(vendor, n)),
    })),
  )
}

export const keyOf = ({ projectId, tenantIds }: Vendor, n = 0) => ({
  project_id: projectId,
  tenant_id: tenantIds[n % tenantIds.length],
  env: 'live',
  name: 'bench',
  scopes: ['orders:read', 'orders:write'],
  meta: { plan: 'pro' },
})

/** Each with a new external id, over all turns. */
export const tenantCreations = (vendor: Vendor): RequestSource => ({
  module: import.meta.url,
  argument: { vendor, prefix: randomUUID() } satisfies TenantPlan,
})

type TenantPlan = { vendor: Vendor; prefix: string }

/** The module that the generator's process loads, see `RequestModule`. */
export function makeRequests({ vendor, prefix }: TenantPlan): (n: number) => HttpRequest {
  const headers = as(vendor)
  return n => ({
    method: 'POST',
    path: '/v1/tenants',
    headers,
    body: JSON.stringify({ external_id: `${prefix}-${n}`, name: 'Bench' }),
  })
}
