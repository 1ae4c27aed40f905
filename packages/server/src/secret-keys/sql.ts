import type { Env } from '@keyrail/contract/shared'
import type { SecretKeyRole } from '@keyrail/contract/vendor/secret-keys'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

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
  revoked_at: Date | null
  revoked_reason: string | null
  rotated_from: string | null
  rotated_to: string | null
  original_expires_at: Date | null
  last_used_at: Date | null
  created_at: Date
}
export interface JudgedSecretKeyRow extends SecretKeyRow {
  /** The store's clock, which alone judges expiry. */
  now: Date
}
export type NewSecretKey = Omit<
  SecretKeyRow,
  'revoked_at' | 'revoked_reason' | 'rotated_to' | 'original_expires_at' | 'last_used_at'
> & {
  digest: Buffer
}

const columns = `id, env, role, created_by_type, created_by_id, name, meta, display_prefix, expires_at, revoked_at,
  revoked_reason, rotated_from, rotated_to, original_expires_at, last_used_at, created_at`

const insert = sql(
  'secret_keys.insert',
  `with credential as (
     insert into credentials (digest, kind, workspace_id, id) values ($2, 'secret_key', $1, $3)
   )
   insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, name, meta,
     display_prefix, expires_at, rotated_from, created_at)
   values ($1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
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
  ])
}

const find = sql(
  'secret_keys.find',
  `select ${columns}, service_now() as now from secret_keys
   where workspace_id = $1 and id = $2 and env = any($3::text[])`,
)
export async function findSecretKey(
  tx: Tx,
  id: string,
  envs: readonly Env[],
): Promise<JudgedSecretKeyRow | null> {
  const [row] = await tx.query<JudgedSecretKeyRow>(find, [tx.workspaceId, id, envs])
  return row ?? null
}

const lock = sql(
  'secret_keys.lock',
  `select ${columns}, service_now() as now from secret_keys
   where workspace_id = $1 and id = $2 and env = any($3::text[]) for update`,
)
export async function lockSecretKey(
  tx: Tx,
  id: string,
  envs: readonly Env[],
): Promise<JudgedSecretKeyRow | null> {
  const [row] = await tx.query<JudgedSecretKeyRow>(lock, [tx.workspaceId, id, envs])
  return row ?? null
}

const endOverlap = sql(
  'secret_keys.end_overlap',
  `update secret_keys set expires_at = $3, rotated_to = $4, original_expires_at = $5
   where workspace_id = $1 and id = $2`,
)
export const endSecretKeyOverlap = (
  tx: Tx,
  id: string,
  endsAt: Date,
  successorId: string,
  originalExpiresAt: Date | null,
) => tx.send(endOverlap, [tx.workspaceId, id, endsAt, successorId, originalExpiresAt])

const revoke = sql(
  'secret_keys.revoke',
  `update secret_keys set revoked_at = $3, revoked_reason = $4
   where workspace_id = $1 and id = $2 and revoked_at is null returning ${columns}`,
)
/** @returns the key as it is now, or null when somebody else has revoked it before. */
export async function revokeSecretKeyRow(
  tx: Tx,
  id: string,
  at: Date,
  reason: string | null,
): Promise<SecretKeyRow | null> {
  const [row] = await tx.query<SecretKeyRow>(revoke, [tx.workspaceId, id, at, reason])
  return row ?? null
}

export interface SecretKeyFilter {
  envs: readonly Env[]
  includeRevoked: boolean
  before: string | null
  limit: number
}
const list = sql(
  'secret_keys.list',
  `select ${columns} from secret_keys
   where workspace_id = $1 and env = any($2::text[]) and ($3 or revoked_at is null)
     and ($4::uuid is null or id < $4)
   order by id desc limit $5`,
)
/** Newest first, one more than the limit. */
export const listSecretKeyRows = (tx: Tx, filter: SecretKeyFilter) =>
  tx.query<SecretKeyRow>(list, [
    tx.workspaceId,
    filter.envs,
    filter.includeRevoked,
    filter.before,
    filter.limit + 1,
  ])

const listActiveMadeBy = sql(
  'secret_keys.list_active_made_by',
  `with recursive made(id) as (
     select id from secret_keys
     where workspace_id = $1 and created_by_type = 'user' and created_by_id = $2
     union
     select k.id from made m join secret_keys k
       on k.workspace_id = $1 and k.created_by_type = 'secret_key' and k.created_by_id = m.id::text
   )
   select ${columns} from secret_keys
   where workspace_id = $1 and id in (select id from made)
     and revoked_at is null and (expires_at is null or expires_at > service_now())
   order by id desc`,
)
/** Made by the person, or by a key that they made, and so on. Newest first. */
export const listActiveRowsMadeBy = (tx: Tx, userId: string) =>
  tx.query<SecretKeyRow>(listActiveMadeBy, [tx.workspaceId, userId])
