import type { Load } from '../harness/load.ts'
import type { HttpRequest } from '../harness/request.ts'
import { makeAtOnce } from './at-once.ts'
import { call, type Vendor } from './vendor.ts'

/** Verifications of keys by HTTP, as many keys as `checks.ts` has callers, with limits that none of them reaches. */
const KEYS = 1_000
const LANES = 16

export async function verifications(url: string, vendor: Vendor, rules: number): Promise<HttpRequest[]> {
  const { token, projectId, tenantIds } = vendor
  const rate_limits = Array.from({ length: rules }, (_, i) => ({
    id: `rule-${i}`,
    limit: 1_000_000,
    window_ms: 60_000 * (i + 1),
    algorithm: i % 2 === 0 ? 'sliding' : 'fixed',
    scope: 'key',
  }))
  const keys = await makeAtOnce(KEYS, LANES, async n => {
    const tenant_id = tenantIds[n % tenantIds.length]
    const scopes = ['orders:read', 'orders:write']
    const body = {
      project_id: projectId,
      tenant_id,
      env: 'live',
      scopes,
      meta: { plan: 'gold' },
      rate_limits,
    }
    return String((await call(url, token, '/v1/keys', body)).key)
  })
  return keys.map(key => ({
    method: 'POST' as const,
    path: '/v1/keys/verify',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ key, project_id: projectId, scopes: ['orders:read'] }),
  }))
}

/** As many verifications as a server will take; each key must be valid. */
export const verificationsOf = (url: string, requests: readonly HttpRequest[]): Omit<Load, 'seconds'> => ({
  url,
  connections: 64,
  requests,
  expectBody: '"valid":true',
})
