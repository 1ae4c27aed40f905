import { hash, randomUUID } from 'node:crypto'
import type { HttpRequest, RequestSource } from '../harness/request.ts'
import type { Vendor } from './vendor.ts'

/** Imports of new keys, spread over a vendor's tenants: what `keyrail keys import` sends. */

/** As many as an import takes. */
export const ROWS = 1_000

/** Each has other keys than all before it, in any process. */
export const keyImports = (vendor: Vendor): RequestSource => ({
  module: import.meta.url,
  argument: { vendor, prefix: randomUUID() } satisfies ImportPlan,
})

type ImportPlan = { vendor: Vendor; prefix: string }

/** The module that the generator's process loads, see `RequestModule`. */
export function makeRequests({ vendor, prefix }: ImportPlan): (n: number) => HttpRequest {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${vendor.token}` }
  return n => ({
    method: 'POST',
    path: '/v1/keys/import',
    headers,
    body: JSON.stringify(importOf(vendor, `${prefix}-${n}`)),
  })
}

/** The rows of one import. @param name of the import: another one has other keys */
export const importOf = ({ projectId, tenantIds }: Vendor, name: string) => ({
  project_id: projectId,
  env: 'live',
  rows: Array.from({ length: ROWS }, (_, row) => ({
    tenant_id: tenantIds[row % tenantIds.length],
    digest: hash('sha256', `${name}-${row}`, 'base64url'),
    display_prefix: 'old_',
    source_id: `${row}`,
    name: 'bench',
    scopes: ['orders:read', 'orders:write'],
    meta: { plan: 'pro' },
  })),
})
