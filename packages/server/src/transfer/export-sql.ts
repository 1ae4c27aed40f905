import type { Env, RateLimit } from '@keyrail/contract/shared'
import { importedPrefixMax } from '@keyrail/contract/vendor/imports'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { sql } from '../platform/db/connection.ts'
import type { ReadTx } from '../platform/db/transaction.ts'

export interface ExportRow {
  id: string
  project_id: string
  env: Env
  external_id: string
  /** In hex. */
  digest: string
  display_prefix: string
  source_id: string | null
  name: string | null
  scopes: string[]
  /** JSON. */
  meta: string
  rate_limits: RateLimit[] | null
  allowed_cidrs: string[] | null
  expires_at: Date | null
  created_at: Date
  disabled_at: Date | null
}

export interface ExportFilter {
  projectId: string | null
  env: Env | null
}

/** Cuts a page where its long members exceed the byte limit, after at least one key. */
const pageStatement = sql(
  'transfer.export',
  `select p.id, p.project_id, p.env, p.external_id, p.digest, p.display_prefix, p.source_id, p.name, p.scopes, p.meta,
     p.rate_limits, p.allowed_cidrs, p.expires_at, p.created_at, p.disabled_at
   from (
     select r.*, sum(r.bytes) over (order by r.id) - r.bytes as before from (
       select k.id, k.project_id, k.env, t.external_id, encode(k.lookup_hash, 'hex') as digest,
         left(k.display_prefix, ${importedPrefixMax}) as display_prefix, k.source_id, k.name, k.scopes,
         k.meta::text as meta, k.rate_limits, k.allowed_cidrs, k.expires_at, k.created_at, k.disabled_at,
         octet_length(k.meta::text) + octet_length(array_to_string(k.scopes, '')) as bytes
       from api_keys k join tenants t on t.workspace_id = k.workspace_id and t.id = k.tenant_id
       where k.workspace_id = $1 and k.id > $2 and ${isActiveKeySql('k')}
         and ($3::uuid is null or k.project_id = $3) and ($4::text is null or k.env = $4)
       order by k.id limit $5
     ) r
   ) p where p.before < $6 order by p.id`,
)
/** In the order of their ids; empty when there are no more. */
export const readExportPage = (
  tx: ReadTx,
  after: string,
  { projectId, env }: ExportFilter,
  { rows, bytes }: { rows: number; bytes: number },
) => tx.query<ExportRow>(pageStatement, [tx.workspaceId, after, projectId, env, rows, bytes])
