import { randomUUID } from 'node:crypto'
import type { Load } from '../harness/load.ts'
import type { HttpRequest } from '../harness/request.ts'
import type { Vendor } from './vendor.ts'

/** Rate-limit checks of a vendor's customers, each with a different key and limits that none of them reaches. */
const CALLERS = 1_000

export function rateLimitChecks({ token, projectId, tenantIds }: Vendor, rules: number): HttpRequest[] {
  const limits = Array.from({ length: rules }, (_, i) => ({
    id: `rule-${i}`,
    limit: 1_000_000,
    window_ms: 60_000 * (i + 1),
    algorithm: i % 2 === 0 ? 'sliding' : 'fixed',
    scope: 'key',
  }))
  return Array.from({ length: CALLERS }, (_, n) => ({
    method: 'POST' as const,
    path: '/v1/ratelimit/check',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      project_id: projectId,
      tenant_id: tenantIds[n % tenantIds.length],
      key_id: randomUUID(),
      env: 'live',
      limits,
    }),
  }))
}

/** As many checks as a server will take; each must be allowed. */
export const checksOf = (url: string, requests: readonly HttpRequest[]): Omit<Load, 'seconds'> => ({
  url,
  connections: 64,
  requests,
  expectBody: '"allowed":true',
})

/** The same checks in lists of so many, each one call. */
export function inLists(requests: readonly HttpRequest[], checks: number): HttpRequest[] {
  const lists: HttpRequest[] = []
  for (let i = 0; i < requests.length; i += checks) {
    const bodies = requests.slice(i, i + checks).map(({ body }) => body)
    if (bodies.length === checks)
      lists.push({
        ...requests[i],
        path: '/v1/ratelimit/checks',
        body: `{"checks":[${bodies.join()}]}`,
      })
  }
  return lists
}
