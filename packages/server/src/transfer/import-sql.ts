import type { Env } from '@keyrail/contract/shared'
import { tenantCapName } from '../keys/cap-name.ts'
import type { KeyRow, ProjectRules } from '../keys/rows.ts'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { hasEndedSql } from '../lifecycle/ended.ts'
import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { Tx } from '../platform/db/transaction.ts'

/** Statements over all rows of a call: none is sent for a row. */

export interface ImportProject extends ProjectRules {
  id: string
  accepts_imported: boolean
}
const findProjectStatement = sql(
  'transfer.find_project',
  `select id, case when strict_scopes then known_scopes end as known_scopes, strict_scopes, max_key_lifetime_days,
     accepts_imported
   from projects where workspace_id = $1 and id = $2 and deleted_at is null`,
)
export async function findImportProject(tx: Tx, id: string): Promise<ImportProject | null> {
  const [row] = await tx.query<ImportProject>(findProjectStatement, [tx.workspaceId, id])
  return row ?? null
}

export interface FoundTenant {
  id: string
  external_id: string
  is_deleted: boolean
  is_suspended: boolean
}
const tenantColumns =
  't.id, t.external_id, t.deleted_at is not null as is_deleted, t.suspended_at is not null as is_suspended'
/**
 * `offset 0` keeps Postgres to a look-up in an index for each, also while it has no statistics, or old ones. Without statistics it may prefer
 * the index of folded external ids to the unique one, so the look-up names these too, as a column: under row security no index is read by a
 * value that a function makes of a row, since the function might tell it.
 */
const findTenantsStatement = sql(
  'transfer.find_tenants',
  `select t.* from unnest($2::uuid[]) u(id) cross join lateral (
     select ${tenantColumns} from tenants t where t.workspace_id = $1 and t.id = u.id offset 0) t
   union
   select t.* from (
     select external_id, lower(left(external_id, 64) collate "C") as folded
     from unnest($3::text[]) u(external_id) offset 0) u
   cross join lateral (
     select ${tenantColumns} from tenants t
     where t.workspace_id = $1 and t.external_id = u.external_id and t.external_id_folded = u.folded
       and t.deleted_at is null offset 0) t`,
)
export const findTenants = (tx: Tx, ids: readonly string[], externalIds: readonly string[]) =>
  tx.query<FoundTenant>(findTenantsStatement, [tx.workspaceId, ids, externalIds])

/** As `holdTenant` of one key: against a deletion until the commit. */
const holdTenantsStatement = sql(
  'transfer.hold_tenants',
  `select t.* from (select id from unnest($2::uuid[]) id order by id) u cross join lateral (
     select ${tenantColumns} from tenants t where t.workspace_id = $1 and t.id = u.id for share) t`,
)
export const holdTenants = (tx: Tx, ids: readonly string[]) =>
  tx.query<FoundTenant>(holdTenantsStatement, [tx.workspaceId, ids])

/** All who make tenants so do it in the order of their external ids, and wait for each other in no circle. */
const makeTenantsStatement = sql(
  'transfer.make_tenants',
  `insert into tenants (workspace_id, id, external_id, meta, created_at, updated_at, allowed_cidrs, delete_protection)
   select $1::uuid, u.id, u.external_id, '{}'::json, $2::timestamptz, $2::timestamptz, '{}'::text[], false
     from unnest($3::uuid[], $4::text[]) u(id, external_id) order by u.external_id
   on conflict (workspace_id, external_id) where deleted_at is null do nothing
   returning id`,
)
/** @returns the ids of those that nobody has made meanwhile. */
export const makeTenants = async (
  tx: Tx,
  rows: readonly { id: string; external_id: string }[],
  at: Date,
): Promise<Set<string>> => {
  const values = [tx.workspaceId, at, rows.map(({ id }) => id), rows.map(row => row.external_id)]
  return new Set((await tx.query<{ id: string }>(makeTenantsStatement, values)).map(({ id }) => id))
}

/** A key of the workspace that has one of the digests. */
export type OwnKey = Pick<KeyRow, 'id' | 'project_id' | 'tenant_id' | 'env'> & {
  digest: Buffer
  /** Neither revoked, expired nor paused, and its tenant not suspended. */
  is_active: boolean
}
const findKeysStatement = sql(
  'transfer.find_keys',
  `select k.lookup_hash as digest, k.id, k.project_id, k.tenant_id, k.env,
     ${isActiveKeySql('k')} and k.disabled_at is null and t.suspended_at is null as is_active
   from unnest($2::bytea[]) u(digest)
   cross join lateral (select * from api_keys k where k.workspace_id = $1 and k.lookup_hash = u.digest offset 0) k
   cross join lateral (select t.suspended_at from tenants t where t.workspace_id = $1 and t.id = k.tenant_id offset 0) t`,
)
export const findKeysByDigest = (tx: Tx, digests: readonly Buffer[]) =>
  tx.query<OwnKey>(findKeysStatement, [tx.workspaceId, digests])

const findTakenStatement = sql('transfer.find_taken', 'select digests_taken($1::bytea[]) as digest')
/** The digests that a credential of anybody has, in hex. */
export const findTaken = async (tx: Tx, digests: readonly Buffer[]): Promise<Set<string>> => {
  const rows = await tx.query<{ digest: Buffer }>(findTakenStatement, [digests])
  return new Set(rows.map(({ digest }) => digest.toString('hex')))
}

const ofPlace = 'k.tenant_id = u.tenant_id and k.project_id = $3 and k.env = $4 and k.embedded_at is null'
const countStatement = sql(
  'transfer.count_keys',
  // Of a tenant with few keys, all are counted, whatever they are: one index has them, and no key is read.
  `select u.tenant_id, case when a.few < $5 then a.few else (select count(*)::int from (
       select from api_keys k where k.workspace_id = $1 and ${ofPlace} and ${isActiveKeySql('k')} limit $6) active) end as active,
     case when a.few < $5 then a.few else (select count(*)::int from (
       select from api_keys k where k.workspace_id = $1 and ${ofPlace} and ${hasEndedSql} limit $7) ended) end as ended
   from unnest($2::uuid[]) u(tenant_id) cross join lateral (select count(*)::int as few from (
     select from api_keys k where k.workspace_id = $1 and k.tenant_id = u.tenant_id order by k.is_revoked, k.id limit $5) few) a`,
)
export interface KeyCounts {
  tenant_id: string
  /** Exact where the tenant has `few` keys or more, and then at most the numbers that were asked for; else all keys of the tenant. */
  active: number
  ended: number
}
export const countKeysOf = (
  tx: Tx,
  tenantIds: readonly string[],
  { project_id, env }: { project_id: string; env: Env },
  { few, active, ended }: { few: number; active: number; ended: number },
) => tx.query<KeyCounts>(countStatement, [tx.workspaceId, tenantIds, project_id, env, few, active, ended])

const lockCapsStatement = sql(
  'transfer.lock_caps',
  `select pg_advisory_xact_lock(hashtextextended(c.name, 0))
   from (select name from unnest($1::text[]) name order by name) c`,
)
export const lockTenantCaps = (tx: Tx, tenantIds: readonly string[]) =>
  tx.query(lockCapsStatement, [tenantIds.map(tenantCapName)])

const claimStatement = sql('transfer.claim', 'select digests_claimed($1::bytea[], $2::uuid[]) as id')
/** @returns the ids of the keys whose digest nobody had. */
export const claimDigests = async (tx: Tx, keys: readonly NewImported[]): Promise<Set<string>> => {
  const values = [keys.map(({ digest }) => digest), keys.map(({ id }) => id)]
  return new Set((await tx.query<{ id: string }>(claimStatement, values)).map(({ id }) => id))
}

/** A key to write. All of a call have the same project, environment, time and maker. */
export type NewImported = Pick<
  KeyRow,
  | 'id'
  | 'project_id'
  | 'tenant_id'
  | 'env'
  | 'name'
  | 'display_prefix'
  | 'scopes'
  | 'meta'
  | 'rate_limits'
  | 'allowed_cidrs'
  | 'expires_at'
  | 'created_at'
  | 'disabled_at'
  | 'source_id'
> & { digest: Buffer }

const texts = (list: string) =>
  `array(select e.value from json_array_elements_text(${list}::json) with ordinality e(value, place) order by e.place)`
const insertStatement = sql(
  'transfer.insert_keys',
  `insert into api_keys (workspace_id, lookup_hash, id, project_id, tenant_id, env, name, display_prefix, scopes, meta,
     rate_limits, allowed_cidrs, expires_at, created_at, disabled_at,
     disabled_by, updated_at, made_by, imported_at, source_id)
   select $1::uuid, u.digest, u.id, $2::uuid, u.tenant_id, $3::text, u.name, u.display_prefix, ${texts('u.scopes')}, u.meta::json,
     u.rate_limits::jsonb, case when u.allowed_cidrs is not null then ${texts('u.allowed_cidrs')} end,
     u.expires_at, u.created_at, u.disabled_at, case when u.disabled_at is not null then 'vendor' end, $4::timestamptz, $5::uuid, $4::timestamptz, u.source_id
   from unnest($6::bytea[], $7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
     $14::text[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[], $18::text[])
     u(digest, id, tenant_id, name, display_prefix, scopes, meta, rate_limits, allowed_cidrs, expires_at, created_at, disabled_at,
       source_id)
   order by u.id`,
)
export function insertImported(
  tx: Tx,
  { project_id, env, at, madeBy }: { project_id: string; env: Env; at: Date; madeBy: string | null },
  keys: readonly NewImported[],
): void {
  const jsonOrNull = (value: unknown) => (value === null ? null : JSON.stringify(value))
  tx.send(insertStatement, [
    tx.workspaceId,
    project_id,
    env,
    at,
    madeBy,
    keys.map(key => key.digest),
    keys.map(key => key.id),
    keys.map(key => key.tenant_id),
    keys.map(key => key.name),
    keys.map(key => key.display_prefix),
    keys.map(key => JSON.stringify(key.scopes)),
    keys.map(key => JSON.stringify(key.meta)),
    keys.map(key => jsonOrNull(key.rate_limits)),
    keys.map(key => jsonOrNull(key.allowed_cidrs)),
    keys.map(key => key.expires_at?.toISOString() ?? null),
    keys.map(key => key.created_at.toISOString()),
    keys.map(key => key.disabled_at?.toISOString() ?? null),
    keys.map(key => key.source_id),
  ])
}

const acceptStatement = sql(
  'transfer.accept_imported',
  changesOne('update projects set accepts_imported = true where workspace_id = $1 and id = $2'),
)
/** The caller has locked the policy head of the project. */
export const markAcceptsImported = (tx: Tx, projectId: string) =>
  tx.send(acceptStatement, [tx.workspaceId, projectId])
