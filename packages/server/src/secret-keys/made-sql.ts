import { keysMadeSql } from '../gate/made.ts'
import type { Sight } from '../gate/principal.ts'
import { isActiveSql } from '../lifecycle/active.ts'
import { sql } from '../platform/db/connection.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { Listed } from '../platform/paging/listed.ts'
import { type SecretKeyRow, secretKeyColumns } from './sql.ts'

/** A person, key or session that makes things. `user` covers all sessions of the person; `session` only that one. */
export interface Maker {
  type: 'user' | 'secret_key' | 'session'
  id: string
}

const isActive = isActiveSql('secret_keys')

const active = `from secret_keys where workspace_id = $1 and id in (select id from made) and ${isActive}`

export const findActiveMade = sql(
  'secret_keys.find_active_made',
  `${keysMadeSql} select id ${active} order by id limit $4`,
)
/** The ids of active keys that descend from the maker, oldest first. */
export async function readActiveMade(tx: Tx, { type, id }: Maker, most: number): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(findActiveMade, [tx.workspaceId, type, id, most])
  return rows.map(row => row.id)
}

/** The reason of a revocation that follows from the end of a maker. */
export const cascaded = 'cascade'

/** A member can lose the rights more than once: only keys that ended with the last loss count. */
const endedNow = `revoked_reason = '${cascaded}' and ($2 <> 'user' or revoked_at >= (select began_at from endings
     where workspace_id = $1 and maker_type = $2 and maker_id = $3::uuid))`
const seen = `from secret_keys where workspace_id = $1 and id in (select id from made)
   and env = any($4::text[]) and ($5::uuid[] is null or project_ids <@ $5)
   and (${isActive} or $6 and ${endedNow})`
const countSeenMade = sql(
  'secret_keys.count_seen_made',
  `${keysMadeSql} select count(*)::int as count ${seen}`,
)
const listSeenMade = sql(
  'secret_keys.list_seen_made',
  `${keysMadeSql} select ${secretKeyColumns} ${seen} order by id desc limit $7`,
)
/**
 * Keys in sight that descend from the maker, newest first, one more than `limit`, and how many there are.
 * @param withEnded also keys that ended with a maker; otherwise only working keys.
 */
export async function readMade(
  tx: ReadTx,
  { type, id }: Maker,
  sight: Sight,
  withEnded: boolean,
  limit: number,
): Promise<{ count: number; rows: Listed<SecretKeyRow> }> {
  const values = [tx.workspaceId, type, id, sight.envs, sight.projectIds, withEnded]
  const [[counted], rows] = await Promise.all([
    tx.query<{ count: number }>(countSeenMade, values),
    tx.list<SecretKeyRow>(listSeenMade, [...values, limit + 1], { most: limit + 1 }),
  ])
  return { count: counted?.count ?? 0, rows }
}

const revokeMany = sql(
  'secret_keys.revoke_many',
  `update secret_keys set revoked_at = $3, revoked_reason = $4
   where workspace_id = $1 and id = any($2::uuid[]) and revoked_at is null returning id, env`,
)
/** @returns the keys that were not revoked yet, unordered. */
export const revokeSecretKeyRows = (tx: Tx, ids: readonly string[], at: Date) =>
  tx.query<Pick<SecretKeyRow, 'id' | 'env'>>(revokeMany, [tx.workspaceId, ids, at, cascaded])
