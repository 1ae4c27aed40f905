import type { Env } from '@keyrail/contract/shared'
import { byEndSql, type EndedRow, hasEndedSql, isLeakedSql, turnSql } from '../lifecycle/ended.ts'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { KeyPlace } from './rows.ts'

const inPlace = `k.workspace_id = $1 and k.tenant_id = $2 and k.project_id = $3 and k.env = $4
     and (k.embedded_at is not null) = $5`
const placeOf = (tx: Tx, { tenant_id, project_id, env, is_embedded }: KeyPlace) => [
  tx.workspaceId,
  tenant_id,
  project_id,
  env,
  is_embedded,
]

const countEnded = sql(
  'keys.count_ended',
  `select count(*)::int as ended from (select from api_keys k where ${inPlace} and ${hasEndedSql} limit $6) ended`,
)
/** How many keys of a place have ended, at most `most`. */
export async function countEndedKeys(tx: Tx, place: KeyPlace, most: number): Promise<number> {
  const [row] = await tx.query<{ ended: number }>(countEnded, [...placeOf(tx, place), most])
  return row?.ended ?? 0
}

/** The limit per minute of the embed plane counts the keys of the last minute. */
const isCounted = `coalesce(k.embedded_at > (select service_now()) - interval '60 seconds', false)`
const findDeletable = sql(
  'keys.find_deletable',
  `select k.id, ${turnSql('maker', 'k.made_by = $6::uuid')} as turn
   from api_keys k left join secret_keys maker on maker.workspace_id = $1 and maker.id = k.made_by
   where ${inPlace} and ${hasEndedSql} and not ${isLeakedSql} and not ${isCounted}
   order by turn, ${byEndSql}, k.id limit $7`,
)
/** Ended keys of a place that can make space, as `makeWay` takes them. */
export const findKeysToDelete = (tx: Tx, place: KeyPlace, makerId: string | null, most: number) =>
  tx.query<EndedRow>(findDeletable, [...placeOf(tx, place), makerId, most])

export interface EndedFilter {
  env: Env | null
  projectId: string | null
  tenantId: string | null
}
const findEnded = sql(
  'keys.find_ended',
  `select k.id from api_keys k
   where k.workspace_id = $1 and ($2::text is null or k.env = $2) and ($3::uuid is null or k.project_id = $3)
     and ($4::uuid is null or k.tenant_id = $4) and ${hasEndedSql} and not ${isLeakedSql} and not ${isCounted}
   limit $5`,
)
export const findEndedKeys = async (tx: Tx, filter: EndedFilter, most: number): Promise<string[]> =>
  (
    await tx.query<{ id: string }>(findEnded, [
      tx.workspaceId,
      filter.env,
      filter.projectId,
      filter.tenantId,
      most,
    ])
  ).map(({ id }) => id)

const deleteEnded = sql(
  'keys.delete_ended',
  'select deleted_env as env from delete_ended_keys($1, $2::uuid[])',
)
/** Deletes the keys that have ended and that no other transaction holds. Locks the heads of their projects. */
export const deleteEndedKeys = (tx: Tx, ids: readonly string[]) =>
  tx.query<{ env: Env }>(deleteEnded, [tx.workspaceId, ids])
