import type pg from 'pg'

interface Owner {
  readonly workspaceId: string
  readonly projectId: string
  readonly tenantIds: readonly string[]
}

/** What the service reads of a project by: its policy, its lists, its searches. */
const readBy = [
  'api_keys_in_project',
  'api_keys_of_tenant',
  'api_keys_by_revocation',
  'api_keys_by_name_folded',
]

/**
 * Keys that are listed, searched and sent to nodes, and that no caller can look up by the key itself, for a test that needs so many
 * that the others would take minutes. The other indexes of the table are gone afterwards. The login must be a superuser.
 */
export async function fillListedKeys(
  client: pg.ClientBase,
  { workspaceId, projectId, tenantIds }: Owner,
  count: number,
): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where tablename = 'api_keys' and indexname <> 'api_keys_pkey'`,
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  // Without a look-up of the parents of each row.
  await client.query('set session_replication_role = replica')
  await client.query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, scopes, meta,
       created_at, updated_at)
     select $1::uuid, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - $4::int + n), 12, '0') || '7'
         || substr(hex, 1, 3) || '8' || substr(hex, 4, 15))::uuid,
       $2::uuid, ($3::uuid[])[1 + n % cardinality($3::uuid[])], 'live', 'bench', 'kr_live_' || substr(hex, 1, 4),
       sha256(hex::bytea), '{orders:read,orders:write}', '{"plan":"pro"}', now(), now()
     from generate_series(1, $4::int) n, md5($1::uuid::text || ' ' || n) hex order by n`,
    [workspaceId, projectId, tenantIds, count],
  )
  await client.query('reset session_replication_role')
  await client.query(`set maintenance_work_mem = '256MB'`)
  for (const { definition } of rows.filter(({ name }) => readBy.includes(name)))
    await client.query(definition)
  await client.query('vacuum analyze api_keys')
  await client.query('update policy_heads set version = version + 1 where project_id = $1', [projectId])
}
