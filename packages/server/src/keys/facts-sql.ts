import { sql } from '../platform/db/connection.ts'
import { keyColumns } from './sql.ts'

/** A key with what a verdict on it depends on. Parameters: workspace, the key, environments, projects or null. */
const factsOf = (name: string, key: string) =>
  sql(
    `keys.${name}`,
    `select k.*, service_now() as now, t.external_id as tenant_external_id, t.name as tenant_name,
       t.suspended_at, t.suspended_reason, t.allowed_cidrs as tenant_cidrs, p.name as project_name,
       p.max_key_lifetime_days, p.lifetime,
       coalesce(k.rate_limits, p.default_rate_limits) as limits
     from (select ${keyColumns} from api_keys where workspace_id = $1 and ${key}
       and env = any($3::text[]) and ($4::uuid[] is null or project_id = any($4))) k
     join tenants t on t.workspace_id = $1 and t.id = k.tenant_id
     join projects p on p.workspace_id = $1 and p.id = k.project_id`,
  )
export const factsById = factsOf('facts_by_id', 'id = $2')
export const factsByDigest = factsOf('facts_by_digest', 'lookup_hash = $2')

export const importedProject = sql(
  'keys.imported_project',
  `select exists (select from projects where workspace_id = $1 and accepts_imported and deleted_at is null
     and ($2::uuid[] is null or id = any($2))) as is_there`,
)
