import type { Harness } from '../../server/test/harness.ts'
import type { Scene } from '../../server/test/vendor.ts'

/** Rows that no test could make one by one over the API. */

/** Live keys "Key 1", "Key 2", …, whose secrets do not exist. */
export const insertKeys = (
  { query }: Pick<Harness, 'query'>,
  { workspaceId, projectId, tenantId }: Omit<Scene, 'live'>,
  count: number,
) =>
  query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at,
       updated_at)
     select $1, id, $2, $3, 'live', 'Key ' || n, 'kr_live_abcd', sha256(id::text::bytea), now(), now()
     from (select n, gen_random_uuid() id from generate_series(1, $4) n) made`,
    [workspaceId, projectId, tenantId, count],
  )

/** Tenants "Tenant 1", "Tenant 2", … */
export const insertTenants = (
  { query }: Pick<Harness, 'query'>,
  { workspaceId }: Pick<Scene, 'workspaceId'>,
  count: number,
) =>
  query(
    `insert into tenants (workspace_id, id, external_id, name, created_at, updated_at)
     select $1, gen_random_uuid(), 'org-' || n, 'Tenant ' || n, now(), now() from generate_series(1, $2) n`,
    [workspaceId, count],
  )
