import type { Sight } from '../gate/principal.ts'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { type Statement, sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import { tenantCapName } from './cap-name.ts'
import type { JudgedKeyRow, KeyPlace, KeyRow, NewKey } from './rows.ts'

export const keyColumns = `id, project_id, tenant_id, env, name, display_prefix, scopes, meta, rate_limits, allowed_cidrs, expires_at,
  revoked_at, revoked_reason, disabled_at, disabled_reason, disabled_by, rotated_from, rotated_to, overlap_ends_at, original_expires_at, last_used_at,
  embedded_at, imported_at, source_id, created_at, updated_at`
const isActive = isActiveKeySql('api_keys')
const judged = `service_now() as now, ${isActive} as is_active`

const insertKeyStatement = sql(
  'keys.insert',
  `with credential as (
     insert into credentials (digest, kind, workspace_id, id) values ($2, 'api_key', $1, $3)
   )
   insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, name, display_prefix, scopes,
     meta, rate_limits, expires_at, rotated_from, created_at, updated_at, embedded_at, made_by,
     allowed_cidrs)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14,
     case when $15::boolean then service_now() end, $16, $17)`,
)
export function insertKey(tx: Tx, key: NewKey): void {
  tx.send(insertKeyStatement, [
    tx.workspaceId,
    key.digest,
    key.id,
    key.project_id,
    key.tenant_id,
    key.env,
    key.name,
    key.display_prefix,
    key.scopes,
    JSON.stringify(key.meta),
    key.rate_limits === null ? null : JSON.stringify(key.rate_limits),
    key.expires_at,
    key.rotated_from,
    key.created_at,
    key.is_embedded,
    key.made_by,
    key.allowed_cidrs,
  ])
}

const findKeyStatement = sql(
  'keys.find',
  `select ${keyColumns}, ${judged} from api_keys where workspace_id = $1 and id = $2
     and env = any($3::text[]) and ($4::uuid[] is null or project_id = any($4))`,
)
export async function findKey(tx: ReadTx, id: string, sight: Sight): Promise<JudgedKeyRow | null> {
  const { envs, projectIds } = sight
  const [row] = await tx.query<JudgedKeyRow>(findKeyStatement, [tx.workspaceId, id, envs, projectIds])
  return row ?? null
}

export const findKeyByDigestStatement = sql(
  'keys.find_by_digest',
  `select ${keyColumns} from api_keys where workspace_id = $1 and lookup_hash = $2
     and env = any($3::text[]) and ($4::uuid[] is null or project_id = any($4))`,
)
export async function findKeyByDigest(tx: Tx, digest: Buffer, sight: Sight): Promise<KeyRow | null> {
  const { envs, projectIds } = sight
  const [row] = await tx.query<KeyRow>(findKeyByDigestStatement, [tx.workspaceId, digest, envs, projectIds])
  return row ?? null
}

const lockKeyStatement = sql(
  'keys.lock',
  `select ${keyColumns}, ${judged} from api_keys where workspace_id = $1 and id = $2 for update`,
)
/** Locks an existing key. If the change concerns nodes, the caller must have locked the policy head of the project. */
export async function lockKey(tx: Tx, id: string): Promise<JudgedKeyRow | null> {
  const [row] = await tx.query<JudgedKeyRow>(lockKeyStatement, [tx.workspaceId, id])
  return row ?? null
}

const updateKeyStatement = sql(
  'keys.update',
  changesOne(`update api_keys
     set name = $3, scopes = $4, meta = $5, rate_limits = $6, expires_at = $7, updated_at = $8,
       allowed_cidrs = $9
     where workspace_id = $1 and id = $2`),
)
export function updateKey(tx: Tx, key: KeyRow): void {
  tx.send(updateKeyStatement, [
    tx.workspaceId,
    key.id,
    key.name,
    key.scopes,
    JSON.stringify(key.meta),
    key.rate_limits === null ? null : JSON.stringify(key.rate_limits),
    key.expires_at,
    key.updated_at,
    key.allowed_cidrs,
  ])
}

const endOverlapStatement = sql(
  'keys.end_overlap',
  changesOne(`update api_keys
     set expires_at = $3, overlap_ends_at = $3, rotated_to = $4, original_expires_at = $5, updated_at = $6
     where workspace_id = $1 and id = $2`),
)
export const endOverlap = (tx: Tx, id: string, endsAt: Date, successor: NewKey) =>
  tx.send(endOverlapStatement, [
    tx.workspaceId,
    id,
    endsAt,
    successor.id,
    successor.expires_at,
    successor.created_at,
  ])

/**
 * Finds a tenant to issue keys to and locks it against deletion until the commit. Deleted rows are returned and
 * flagged: filtering them out would let Postgres scan all living tenants through the partial index.
 */
const holdTenantStatement = sql(
  'keys.hold_tenant',
  'select id, deleted_at is not null as is_deleted from tenants where workspace_id = $1 and id = $2 for share',
)
export async function holdTenant(tx: Tx, tenantId: string): Promise<{ id: string } | null> {
  const [row] = await tx.query<{ id: string; is_deleted: boolean }>(holdTenantStatement, [
    tx.workspaceId,
    tenantId,
  ])
  return row === undefined || row.is_deleted ? null : row
}

const countActiveStatement = sql(
  'keys.count_active',
  `select count(*)::int as active from (
     select from api_keys where workspace_id = $1 and tenant_id = $2 and project_id = $3 and env = $4
       and embedded_at is null and ${isActive} limit $5) k`,
)
/** How many active keys a tenant has in a project and environment, except keys made with embed tokens; at most `most`. */
export async function countActiveKeys(
  tx: Tx,
  { tenant_id, project_id, env }: Omit<KeyPlace, 'is_embedded'>,
  most: number,
): Promise<number> {
  const values = [tx.workspaceId, tenant_id, project_id, env, most]
  const [row] = await tx.query<{ active: number }>(countActiveStatement, values)
  return row?.active ?? 0
}

const lockCap = sql('keys.lock_cap', 'select pg_advisory_xact_lock(hashtextextended($1, 0))')
/** Makes requests check one at a time, for a tenant that is near its cap. */
export const lockTenantCap = (tx: Tx, tenantId: string) => tx.query(lockCap, [tenantCapName(tenantId)])
/** Makes long bulk operations of a workspace begin one at a time. */
export const lockBulkTurn = (tx: Tx) => tx.query(lockCap, [`keyrail.bulk ${tx.workspaceId}`])

/** What a tenant created with embed tokens. `free_in_ms`: until the oldest of `aMinute` keys is a minute old. */
const readEmbed = sql(
  'keys.read_embed',
  `select (select count(*)::int from (
        select from api_keys where workspace_id = $1 and tenant_id = $2 and project_id = $3 and env = $4
          and embedded_at is not null and ${isActive} limit $5) k) as active,
     count(*)::int as made,
     (extract(epoch from min(embedded_at) + interval '60 seconds' - service_now()) * 1000)::float8 as free_in_ms
   from (select embedded_at from api_keys
     where workspace_id = $1 and tenant_id = $2 and embedded_at > service_now() - interval '60 seconds'
     order by embedded_at desc limit $6) minute`,
)
/** Makes requests of a tenant check one at a time. */
export async function lockEmbedQuota(
  tx: Tx,
  { tenant_id, project_id, env }: Pick<KeyRow, 'project_id' | 'tenant_id' | 'env'>,
  most: { active: number; aMinute: number },
) {
  const [, [row]] = await Promise.all([
    tx.query(lockCap, [`keyrail.embed_cap ${tenant_id}`]),
    tx.query<{ active: number; made: number; free_in_ms: number | null }>(readEmbed, [
      tx.workspaceId,
      tenant_id,
      project_id,
      env,
      most.active,
      most.aMinute,
    ]),
  ])
  return row ?? { active: 0, made: 0, free_in_ms: null }
}

export interface KeyFilter extends Sight {
  projectId: string | null
  tenantId: string | null
  name: string | null
  includeRevoked: boolean
  /** Only keys older than this id, the last of the previous page. */
  before: string | null
  limit: number
}

/**
 * One statement per combination of filters, so that each gets the index that fits it. A single statement with `$n is null or …`
 * would get one plan for all combinations.
 */
const listStatements = new Map<string, Statement>()
function listStatement(filter: KeyFilter): Statement {
  const { projectIds, projectId, tenantId, name: called, includeRevoked, before } = filter
  const shape = [
    projectIds && 'bound',
    projectId && 'project',
    tenantId && 'tenant',
    called && 'name',
    includeRevoked && 'all',
    before && 'before',
  ]
  const name = ['keys.list', ...shape.filter(Boolean)].join('.')
  let statement = listStatements.get(name)
  if (statement === undefined) {
    statement = sql(name, listText(filter))
    listStatements.set(name, statement)
  }
  return statement
}

function listText({ projectIds, projectId, tenantId, name, includeRevoked, before }: KeyFilter): string {
  const list = (
    envs: string,
    revoked: string,
  ) => `select ${keyColumns} from api_keys where workspace_id = $1 and ${envs}
         and ${projectId ? 'project_id = $3' : '$3::uuid is null'}
         and ${tenantId ? 'tenant_id = $4' : '$4::uuid is null'}
         and ${before ? 'id < $5' : '$5::uuid is null'}
         and ${projectIds ? 'project_id = any($7::uuid[])' : '$7::uuid[] is null'}
         and ${name ? 'name_folded = lower(left($8, 64) collate "C") and name = $8' : '$8::text is null'}
         ${revoked}
       order by id desc limit $6`
  const isFound = projectId !== null || tenantId !== null
  if (name !== null) return inParts(list, { byEnv: true, includeRevoked })
  if (includeRevoked && isFound) return inParts(list, { byEnv: false, includeRevoked })
  return list('env = any($2::text[])', includeRevoked ? '' : 'and not is_revoked')
}

/**
 * The indexes by name, by project and by tenant have revocation before the id, the one by name environment too: a page of each
 * part is in order there, and the pages are merged.
 */
function inParts(
  list: (envs: string, revoked: string) => string,
  { byEnv, includeRevoked }: { byEnv: boolean; includeRevoked: boolean },
): string {
  const parts = [
    ...(byEnv ? ['unnest($2::text[]) e(listed_env)'] : []),
    `unnest('${includeRevoked ? '{f,t}' : '{f}'}'::boolean[]) r(listed_revoked)`,
  ]
  const part = list(
    byEnv ? 'env = e.listed_env' : 'env = any($2::text[])',
    'and is_revoked = r.listed_revoked',
  )
  return `select ${keyColumns} from ${parts.join(' cross join ')} cross join lateral (${part}) found
     order by id desc limit $6`
}
/** Newest first, one row more than the limit. */
export const listKeys = (tx: ReadTx, filter: KeyFilter) =>
  tx.list<KeyRow>(
    listStatement(filter),
    [
      tx.workspaceId,
      filter.envs,
      filter.projectId,
      filter.tenantId,
      filter.before,
      filter.limit + 1,
      filter.projectIds,
      filter.name,
    ],
    { most: filter.limit + 1 },
  )
