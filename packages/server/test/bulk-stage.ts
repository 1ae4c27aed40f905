import assert from 'node:assert/strict'
import type { Harness } from './harness.ts'
import { until } from './until.ts'
import { issueKey, type Vendor } from './vendor.ts'
import { faultsOf } from './whole.ts'

export type Verb = 'revoke' | 'disable' | 'enable'

/** What tests of changes of many keys do. */
export function bulkStage(harness: Harness) {
  const { ask, query, clock } = harness
  return {
    change: (
      vendor: Vendor,
      verb: Verb,
      body: object,
      more: { token?: string; query?: string; key?: string } = {},
    ) =>
      ask('POST', `/v1/keys/${verb}${more.query ?? ''}`, {
        token: more.token ?? vendor.live,
        body,
        ...(more.key !== undefined && { headers: { 'idempotency-key': more.key } }),
      }),
    count: async (vendor: Vendor, action: Verb, filter: object, token = vendor.live): Promise<number> =>
      (await ask('POST', '/v1/keys/count', { token, body: { action, filter } })).body.count,
    get: async (vendor: Vendor, id: string) =>
      (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body,
    async issueMany(vendor: Vendor, most: number, more: Record<string, unknown> = {}): Promise<string[]> {
      const ids: string[] = []
      for (let made = 0; made < most; made += 1) ids.push((await issueKey(harness, vendor, more)).id)
      return ids
    },
    /** Keys that are made past the service, without their audit rows. */
    async fill(vendor: Vendor, most: number, at = clock.now()): Promise<void> {
      await query(
        `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at,
           updated_at)
         select $1::uuid, (lpad(to_hex($5::bigint), 12, '0') || '7' || lpad(to_hex(n), 3, '0') || '8'
             || substr(md5($1::text || n::text), 1, 15))::uuid,
           $2::uuid, $3::uuid, 'live', 'filled', 'kr_live_abcd', sha256(($1::text || n::text)::bytea),
           to_timestamp($5::bigint / 1000.0), to_timestamp($5::bigint / 1000.0) from generate_series(1, $4::int) n`,
        [vendor.workspaceId, vendor.projectId, vendor.tenantId, most, at],
      )
    },
    stateOf: async (vendor: Vendor): Promise<{ revoked: number; paused: number }> =>
      (
        await query(
          `select count(revoked_at)::int as revoked, count(disabled_at)::int as paused
           from api_keys where workspace_id = $1`,
          [vendor.workspaceId],
        )
      )[0],
    /** The operation, once its last batch is done. */
    async done(vendor: Vendor, id: string) {
      let body: { status: string; done: number; matched: number } | undefined
      await until(async () => {
        body = (await ask('GET', `/v1/keys/bulk/${id}`, { token: vendor.live })).body
        return body?.status === 'done'
      })
      return body
    },
    isWhole: async (vendor: Vendor) => assert.deepEqual(await faultsOf(query, vendor.workspaceId), []),
  }
}
