import { sql } from '../platform/db/connection.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { ProjectRules } from './rows.ts'

/** The columns of a project that its keys need: the list of known scopes is read only if the project refuses other scopes. */
export interface KeyProject extends ProjectRules {
  id: string
  key_prefix: string
}
const findProjectStatement = sql(
  'keys.find_project',
  `select id, key_prefix, case when strict_scopes then known_scopes end as known_scopes, strict_scopes,
     max_key_lifetime_days, deleted_at is not null as is_deleted
   from projects where workspace_id = $1 and id = $2`,
)
export async function findKeyProject(tx: Tx, id: string): Promise<KeyProject | null> {
  const [row] = await tx.query<KeyProject & { is_deleted: boolean }>(findProjectStatement, [
    tx.workspaceId,
    id,
  ])
  return row === undefined || row.is_deleted ? null : row
}

const findKnownScopesStatement = sql(
  'keys.find_known_scopes',
  'select known_scopes from projects where workspace_id = $1 and id = $2',
)
export async function findKnownScopes(tx: ReadTx, projectId: string): Promise<string[]> {
  const [row] = await tx.query<{ known_scopes: string[] | null }>(findKnownScopesStatement, [
    tx.workspaceId,
    projectId,
  ])
  return row?.known_scopes ?? []
}
