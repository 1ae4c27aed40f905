import type { KeyPauser } from '@keyrail/contract/vendor/keys'
import { isActiveKeySql } from '../lifecycle/active.ts'
import { isLongEndedSql, restSql } from '../lifecycle/ended.ts'
import { sql } from '../platform/db/connection.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { KeyRow } from './rows.ts'
import { keyColumns } from './sql.ts'

const revokeKeyStatement = sql(
  'keys.revoke',
  `update api_keys set revoked_at = $3, revoked_reason = $4, updated_at = $3
   where workspace_id = $1 and id = $2 and revoked_at is null returning ${keyColumns}`,
)
/** @returns the key as it is now, or null when it was already revoked. */
export async function revokeKeyRow(
  tx: Tx,
  id: string,
  at: Date,
  reason: string | null,
): Promise<KeyRow | null> {
  const [row] = await tx.query<KeyRow>(revokeKeyStatement, [tx.workspaceId, id, at, reason])
  return row ?? null
}

const setPauseStatement = sql(
  'keys.set_pause',
  `update api_keys set disabled_at = $3, disabled_reason = $4, disabled_by = $5, updated_at = $6
   where workspace_id = $1 and id = $2 returning ${keyColumns}`,
)
/** @returns the key as it is now; the caller has locked it. */
export async function setPause(
  tx: Tx,
  id: string,
  { at, reason, by }: { at: Date | null; reason: string | null; by: KeyPauser | null },
  now: Date,
): Promise<KeyRow> {
  const [row] = await tx.query<KeyRow>(setPauseStatement, [tx.workspaceId, id, at, reason, by, now])
  return row as KeyRow
}

const readKeyStatement = sql(
  'keys.read',
  `select ${keyColumns} from api_keys where workspace_id = $1 and id = $2`,
)
/**
 * The key whose revocation changed no row, because another revocation came first.
 * @throws {RightNotEnded} when nothing has revoked the key.
 */
export async function readRevokedKey(tx: Tx, id: string): Promise<KeyRow> {
  const [row] = await tx.query<KeyRow>(readKeyStatement, [tx.workspaceId, id])
  if (!row?.revoked_at) throw new RightNotEnded('the key')
  return row
}

/**
 * Whether the end of its parent ends a key. Expired keys may be very many, and stay as they are, because nothing renews a key
 * whose parent is deleted. The margin of a minute is for a clock that is set back.
 */
const endsWithParent = isActiveKeySql('api_keys', "(select service_now() - interval '1 minute')")

const projectsOfTenant = sql(
  'keys.projects_of_tenant',
  `select distinct project_id from api_keys where workspace_id = $1 and tenant_id = $2 and ${endsWithParent}`,
)
export const findProjectsOfTenant = async (tx: Tx, tenantId: string): Promise<string[]> =>
  (await tx.query<{ project_id: string }>(projectsOfTenant, [tx.workspaceId, tenantId])).map(
    row => row.project_id,
  )

/** Keys of a deleted parent, locked by id. The caller has locked the parents before. */
const revokeAll = (name: string, parent: 'project_id' | 'tenant_id') =>
  sql(
    name,
    `update api_keys k set revoked_at = $3, revoked_reason = $4, updated_at = $3
     from (select id from api_keys where workspace_id = $1 and ${parent} = $2 and ${endsWithParent}
           order by id for update) doomed
     where k.workspace_id = $1 and k.id = doomed.id
     returning k.id, k.project_id, k.env`,
  )
const revokeAllOf = {
  project: revokeAll('keys.revoke_project', 'project_id'),
  tenant: revokeAll('keys.revoke_tenant', 'tenant_id'),
}
export type RevokedKeyRow = Pick<KeyRow, 'id' | 'project_id' | 'env'>
export const revokeKeysOf = (tx: Tx, parent: 'project' | 'tenant', id: string, at: Date) =>
  tx.query<RevokedKeyRow>(revokeAllOf[parent], [tx.workspaceId, id, at, `${parent}_deleted`])

/**
 * The credential is deleted with the key, but for an imported key: its digest could be imported again, and a key that was
 * revoked here would live again. Nothing names a key that ended so long ago, except a recent change of its row for
 * nodes, or a recent leak.
 */
export const pruneKeyRows = `with old as (
     select k.workspace_id, k.id, k.lookup_hash, k.imported_at from api_keys k
     where ${isLongEndedSql('key')} and not exists (select from policy_changes c
         where c.workspace_id = k.workspace_id and c.project_id = k.project_id and c.key_id = k.id)
       and not exists (select from leak_reports l where l.workspace_id = k.workspace_id and l.credential_id = k.id)
     order by ${restSql.key} limit $1 for update of k skip locked
   ), credential as (
     delete from credentials c using old where c.digest = old.lookup_hash and old.imported_at is null
   )
   delete from api_keys k using old where k.workspace_id = old.workspace_id and k.id = old.id`
