import type pg from 'pg'
import { sql } from '../platform/db/connection.ts'

/** What decides how much a workspace may keep. */
export interface WorkspaceFacts {
  /** Whether an owner has verified an address, or the operator made the workspace, which then has no owner. */
  readonly isProven: boolean
  /** The projects that exist. */
  readonly projectIds: readonly string[]
}

/** Beyond, a project is not known to exist. */
const projectsMost = 10_000

const statement = sql(
  'gate.workspace_facts',
  `with owners as (
     select u.email_verified_at from workspace_members m left join users u on u.id = m.user_id
     where m.workspace_id = $1 and m.role = 'owner' and m.removed_at is null
   )
   select coalesce((select bool_or(email_verified_at is not null) from owners), true) as is_proven,
     array(select p.id::text from projects p where p.workspace_id = $1 and p.deleted_at is null
       order by p.id limit $2) as project_ids`,
)

/** Reads them as the role that owns the tables. */
export async function readWorkspaceFacts(
  client: pg.ClientBase,
  workspaceId: string,
): Promise<WorkspaceFacts> {
  const { rows } = await client.query(statement.text, [workspaceId, projectsMost])
  const [{ is_proven, project_ids }] = rows
  return { isProven: is_proven, projectIds: project_ids }
}
