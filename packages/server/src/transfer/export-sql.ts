import type { Env, RateLimit } from '@keyrail/contract/shared'
import { importedPrefixMax } from '@keyrail/contract/vendor/imports'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { refusedAfterSql } from '../lifecycle/lifetime.ts'
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

/** Keys that a page looks at. Of many that it passes over, because they have expired, the next page begins behind them. */
const lookedAtMax = 2_000

/**
 * The indexes have the environment or the project, and whether a key is revoked, before the id: ordered by both, no key of another
 * environment is read. What was looked at is cut to the wanted keys, and these where their long members exceed the byte limit, after at
 * least one key. `offset 0` keeps Postgres to a look-up for each row, also while it has no statistics.
 */
const pageText = (parts: string, part: string) => `with looked as materialized (
     select found.id from ${parts} cross join lateral (
       select id from api_keys where workspace_id = $1 and not is_revoked and ${part} and id > $2
       order by is_revoked, id limit ${lookedAtMax}) found
     order by found.id limit ${lookedAtMax}
   ), wanted as materialized (
     select k.*, p.lifetime, p.max_key_lifetime_days from looked l
     cross join lateral (select * from api_keys k where k.workspace_id = $1 and k.id = l.id offset 0) k
     join projects p on p.workspace_id = $1 and p.id = k.project_id
     where ${isActiveKeySql('k')} and k.env = any($3::text[]) order by k.id limit $5
   ), page as (
     select k.id, k.project_id, k.env, t.external_id, encode(k.lookup_hash, 'hex') as digest,
       left(k.display_prefix, ${importedPrefixMax}) as display_prefix, k.source_id, k.name, k.scopes,
       k.meta::text as meta, k.rate_limits, k.allowed_cidrs,
       least(k.expires_at, k.created_at + ${refusedAfterSql('k')}) as expires_at, k.created_at,
       coalesce(k.disabled_at, t.suspended_at) as disabled_at,
       sum(octet_length(k.meta::text) + octet_length(array_to_string(k.scopes, ''))) over (order by k.id)
         - octet_length(k.meta::text) - octet_length(array_to_string(k.scopes, '')) as before
     from wanted k
     cross join lateral (select * from tenants t where t.workspace_id = $1 and t.id = k.tenant_id offset 0) t
   )
   select (select id from looked order by id desc limit 1) as reached, (select count(*) from wanted)::int as wanted, p.*
   from (select) once left join page p on p.before < $6 order by p.id`

const pageOf = {
  project: sql('transfer.export_project', pageText('(select) once', 'project_id = $4::uuid')),
  workspace: sql(
    'transfer.export',
    pageText('unnest($3::text[]) e(env)', 'env = e.env and $4::uuid is null'),
  ),
}

export interface ExportPage {
  readonly rows: ExportRow[]
  /** The id behind which the next page begins; null: there are no more keys. */
  readonly next: string | null
}

/** In the order of their ids. A key of a suspended tenant is paused, and a key that its project refuses by its age has that end. */
export async function readExportPage(
  tx: ReadTx,
  after: string,
  { projectId, env }: ExportFilter,
  { rows: most, bytes }: { rows: number; bytes: number },
): Promise<ExportPage> {
  type Read = (ExportRow | { id: null }) & { reached: string | null; wanted: number }
  const envs = env === null ? ['live', 'test'] : [env]
  const read = await tx.query<Read>(projectId === null ? pageOf.workspace : pageOf.project, [
    tx.workspaceId,
    after,
    envs,
    projectId,
    most,
    bytes,
  ])
  const rows = read.filter(row => row.id !== null) as (ExportRow & Read)[]
  const { reached = null, wanted = 0 } = read[0] ?? {}
  const isCut = rows.length < wanted || wanted === most
  return { rows, next: isCut ? (rows.at(-1)?.id ?? null) : reached }
}
