import type { Env } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import type { SecretKeyRole } from '@keyrail/contract/vendor/secret-keys'
import { keysMadeByIdSql } from '../gate/made.ts'
import type { Sight } from '../gate/principal.ts'
import { isActiveSql } from '../lifecycle/active.ts'
import { sql } from '../platform/db/connection.ts'
import { changesOne, RightNotEnded } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'

export type CreatorType = 'user' | 'secret_key' | 'bootstrap' | 'operator'

export interface SecretKeyRow {
  id: string
  env: Env
  role: SecretKeyRole
  created_by_type: CreatorType
  created_by_id: string | null
  name: string | null
  meta: Record<string, unknown>
  display_prefix: string
  expires_at: Date | null
  permissions: Permission[] | null
  project_ids: string[] | null
  allowed_cidrs: string[] | null
  revoked_at: Date | null
  revoked_reason: string | null
  rotated_from: string | null
  rotated_to: string | null
  original_expires_at: Date | null
  last_used_at: Date | null
  created_at: Date
}
export interface JudgedSecretKeyRow extends SecretKeyRow {
  /** The database clock, which decides about expiry. */
  now: Date
  /** Neither revoked nor expired. */
  is_active: boolean
}
export type NewSecretKey = Omit<
  SecretKeyRow,
  'revoked_at' | 'revoked_reason' | 'rotated_to' | 'original_expires_at' | 'last_used_at'
> & {
  digest: Buffer
  /** The session in which a person created the key; null for every other creator. */
  created_in_session: string | null
}

/** The columns that the API shows. */
export const secretKeyColumns = `id, env, role, created_by_type, created_by_id, name, meta, display_prefix, expires_at, permissions,
  project_ids, allowed_cidrs, revoked_at, revoked_reason, rotated_from, rotated_to, original_expires_at, last_used_at, created_at`
const isActive = isActiveSql('secret_keys')

const insert = sql(
  'secret_keys.insert',
  `with credential as (
     insert into credentials (digest, kind, workspace_id, id) values ($2, 'secret_key', $1, $3)
   )
   insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, name, meta,
     display_prefix, expires_at, rotated_from, created_at, permissions, project_ids, allowed_cidrs, created_in_session)
   values ($1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
)
export function insertSecretKey(tx: Tx, key: NewSecretKey): void {
  tx.send(insert, [
    tx.workspaceId,
    key.digest,
    key.id,
    key.env,
    key.role,
    key.created_by_type,
    key.created_by_id,
    key.name,
    JSON.stringify(key.meta),
    key.display_prefix,
    key.expires_at,
    key.rotated_from,
    key.created_at,
    key.permissions,
    key.project_ids,
    key.allowed_cidrs,
    key.created_in_session,
  ])
}

const find = sql(
  'secret_keys.find',
  `select ${secretKeyColumns}, service_now() as now, ${isActive} as is_active from secret_keys
   where workspace_id = $1 and id = $2 and env = any($3::text[])
     and ($4::uuid[] is null or project_ids <@ $4)`,
)
export async function findSecretKey(
  tx: ReadTx,
  id: string,
  sight: Sight,
): Promise<JudgedSecretKeyRow | null> {
  const [row] = await tx.query<JudgedSecretKeyRow>(find, [tx.workspaceId, id, sight.envs, sight.projectIds])
  return row ?? null
}

const lock = sql(
  'secret_keys.lock',
  `select ${secretKeyColumns}, service_now() as now, ${isActive} as is_active from secret_keys
   where workspace_id = $1 and id = $2 and env = any($3::text[])
     and ($4::uuid[] is null or project_ids <@ $4) for update`,
)
export async function lockSecretKey(tx: Tx, id: string, sight: Sight): Promise<JudgedSecretKeyRow | null> {
  const [row] = await tx.query<JudgedSecretKeyRow>(lock, [tx.workspaceId, id, sight.envs, sight.projectIds])
  return row ?? null
}

const endOverlap = sql(
  'secret_keys.end_overlap',
  changesOne(`update secret_keys set expires_at = $3, rotated_to = $4, original_expires_at = $5
     where workspace_id = $1 and id = $2`),
)
const hold = sql(
  'secret_keys.hold',
  `select id from secret_keys where workspace_id = $1 and id = $2 and ${isActive} for share`,
)
export const holdRow = async (tx: Tx, id: string): Promise<boolean> =>
  (await tx.query(hold, [tx.workspaceId, id])).length > 0

export const endSecretKeyOverlap = (
  tx: Tx,
  id: string,
  endsAt: Date,
  successorId: string,
  originalExpiresAt: Date | null,
) => tx.send(endOverlap, [tx.workspaceId, id, endsAt, successorId, originalExpiresAt])

const label = sql(
  'secret_keys.label',
  changesOne('update secret_keys set name = $3, meta = $4 where workspace_id = $1 and id = $2'),
)
/** Writes the columns that people read about a key. */
export const labelSecretKeyRow = (tx: Tx, { id, name, meta }: Pick<SecretKeyRow, 'id' | 'name' | 'meta'>) =>
  tx.send(label, [tx.workspaceId, id, name, JSON.stringify(meta)])

const revoke = sql(
  'secret_keys.revoke',
  `update secret_keys set revoked_at = $3, revoked_reason = $4
   where workspace_id = $1 and id = $2 and revoked_at is null returning ${secretKeyColumns}`,
)
/** @returns the key as it is now, or null when it was already revoked. */
export async function revokeSecretKeyRow(
  tx: Tx,
  id: string,
  at: Date,
  reason: string | null,
): Promise<SecretKeyRow | null> {
  const [row] = await tx.query<SecretKeyRow>(revoke, [tx.workspaceId, id, at, reason])
  return row ?? null
}

const read = sql(
  'secret_keys.read',
  `select ${secretKeyColumns} from secret_keys where workspace_id = $1 and id = $2`,
)
/**
 * The key whose revocation changed no row, because another revocation came first.
 * @throws {RightNotEnded} when nothing has revoked the key.
 */
export async function readRevokedSecretKey(tx: Tx, id: string): Promise<SecretKeyRow> {
  const [row] = await tx.query<SecretKeyRow>(read, [tx.workspaceId, id])
  if (!row?.revoked_at) throw new RightNotEnded('the secret key')
  return row
}

export interface SecretKeyFilter extends Sight {
  includeRevoked: boolean
  /** A person or a secret key: only its descendants are listed; null: all keys. */
  madeBy: string | null
  before: string | null
  limit: number
}
const listed = `from secret_keys
   where workspace_id = $1 and env = any($2::text[]) and ($3 or revoked_at is null)
     and ($4::uuid is null or id < $4) and ($6::uuid[] is null or project_ids <@ $6)`
const list = sql('secret_keys.list', `select ${secretKeyColumns} ${listed} order by id desc limit $5`)
const listMade = sql(
  'secret_keys.list_made',
  `${keysMadeByIdSql('$7')}
   select ${secretKeyColumns} ${listed} and id in (select id from made) order by id desc limit $5`,
)
/** Newest first, one row more than the limit. */
export const listSecretKeyRows = (tx: ReadTx, filter: SecretKeyFilter) =>
  tx.list<SecretKeyRow>(
    filter.madeBy === null ? list : listMade,
    [
      tx.workspaceId,
      filter.envs,
      filter.includeRevoked,
      filter.before,
      filter.limit + 1,
      filter.projectIds,
      ...(filter.madeBy === null ? [] : [filter.madeBy.toLowerCase()]),
    ],
    { most: filter.limit + 1 },
  )

const countProjects = sql(
  'secret_keys.count_projects',
  `select count(*)::int as living from projects
   where workspace_id = $1 and id = any($2::uuid[]) and deleted_at is null`,
)
export async function countLivingProjects(tx: Tx, ids: readonly string[]): Promise<number> {
  const [row] = await tx.query<{ living: number }>(countProjects, [tx.workspaceId, ids])
  return row?.living ?? 0
}
