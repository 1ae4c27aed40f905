import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import type { Vendor } from './vendor.ts'

/** The default number of active keys that a tenant may have. */
const KEYS_OF_TENANT_MAX = 10_000

/**
 * Keys as single creations leave them, without their audit rows: ids that rise with time, in that order on disk, a
 * credential for each, and one version of the policy for all. They have no key limits.
 */
const FILL = `
  with made as materialized (
    select n, encode(sha256(convert_to($1::uuid::text || ' ' || n, 'UTF8')), 'hex') as hex,
      sha256(convert_to('key ' || $1::uuid::text || ' ' || n, 'UTF8')) as digest,
      lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n), 12, '0') as millis
    from generate_series(1, $4::int) n
  ),
  keys as (
    insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, scopes,
      meta, created_at, updated_at, imported_at, source_id)
    select $1::uuid, (millis || '7' || substr(hex, 1, 3) || '8' || substr(hex, 4, 15))::uuid, $2,
      ($3::uuid[])[1 + n % cardinality($3::uuid[])], 'live', 'bench',
      case when $5 then 'old_' else 'kr_live_' end || substr(hex, 1, 4), digest,
      '{orders:read,orders:write}', '{"plan":"pro"}', now(), now(), case when $5 then now() end, case when $5 then n::text end
    from made order by n
    returning id, lookup_hash
  ),
  found as (
    insert into credentials (digest, kind, workspace_id, id) select lookup_hash, 'api_key', $1, id from keys
  )
  select policy_changed($1, $2, (select array_agg(id) from keys))`

/**
 * Adds that many keys to a project, spread over the vendor's tenants, by SQL alone.
 * @param isImported whether the keys come from another system, and have any form
 */
export async function fillKeys(
  { query }: ScratchPostgres,
  { workspaceId, projectId, tenantIds }: Vendor,
  count: number,
  isImported = false,
): Promise<void> {
  if (count > KEYS_OF_TENANT_MAX * tenantIds.length) throw new RangeError(`${count} keys need more tenants`)
  await query(FILL, [workspaceId, projectId, tenantIds, count, isImported])
  await query('update policy_heads set accepts_imported = $2 where project_id = $1', [projectId, isImported])
  // What an autovacuum would have done with enough time.
  await query('vacuum analyze api_keys')
  await query('checkpoint')
}
