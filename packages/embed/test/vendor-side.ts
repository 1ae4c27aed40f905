import assert from 'node:assert/strict'
import type { Vendor } from '../../server/test/vendor.ts'
import { type Stage, tokenOf } from './stage.ts'

/** A key that the vendor gives to its first tenant. The answer has its id and the key. */
export async function makeKey(
  { harness }: Stage,
  vendor: Vendor,
  name: string,
  more: Record<string, unknown> = {},
): Promise<{ id: string; key: string; display_prefix: string }> {
  const { status, body } = await harness.ask('POST', '/v1/keys', {
    token: vendor.live,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live', name, ...more },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** Ends every embed token of the vendor's first tenant. */
export const endTokens = ({ harness }: Stage, vendor: Vendor) =>
  harness.ask('POST', `/v1/tenants/${vendor.tenantId}/embed_tokens/revoke`, { token: vendor.live })

/** The route of the vendor's server that answers the page. */
export interface TokenRoute {
  /** How often it was asked. */
  asked: number
  /** Whose customer is signed in; null for no one, which is an error of the route. */
  vendor: Vendor | null
  readonly token: () => Promise<string>
}

export function openTokenRoute(stage: Stage, vendor: Vendor | null, more = {}): TokenRoute {
  const route: TokenRoute = {
    asked: 0,
    vendor,
    async token() {
      route.asked += 1
      if (route.vendor === null) throw new Error('signed out')
      return await tokenOf(stage, route.vendor, more)
    },
  }
  return route
}
