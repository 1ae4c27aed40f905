import type { Env } from '@keyrail/contract/shared'
import { sql } from '../platform/db/connection.ts'
import { versionSql } from '../platform/db/failover/raised.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'

/**
 * Records the changes that nodes must receive. The policy head of a project has its version and its floor; the row lock
 * on the head orders the changes. It is taken after the tenant's lock and before a key's.
 */
const lockHeads = sql(
  'policy.lock_heads',
  `select project_id, project_deleted from policy_heads where workspace_id = $1 and project_id = any($2::uuid[])
   order by project_id for update`,
)
const noteChange = sql('policy.note_change', 'select policy_changed($1, $2, $3::uuid[])')
const noteTenant = sql('policy.note_tenant', 'select policy_tenant_changed($1, $2) as project_id')
const noteSuspension = sql(
  'policy.note_suspension',
  `update policy_tenants set suspended_version = version
   where workspace_id = $1 and tenant_id = $2 and project_id = any($3::uuid[])`,
)
const noteNetworks = sql(
  'policy.note_networks',
  `update policy_tenants set networks_version = version
   where workspace_id = $1 and tenant_id = $2 and project_id = any($3::uuid[])`,
)
/** Keys that were issued meanwhile came with the suspension beside them, so a project without a version needs no wait. */
const readSuspension = sql(
  'policy.read_suspension',
  `select k.project_id, p.suspended_version as version, k.env, store_raised_at() as raised_at
   from (select project_id, case when count(distinct env) = 1 then min(env) end as env from api_keys
         where workspace_id = $1 and tenant_id = $2 and not is_revoked group by project_id) k
   join policy_tenants p on p.workspace_id = $1 and p.project_id = k.project_id and p.tenant_id = $2
   where p.suspended_version is not null order by k.project_id`,
)
const raiseFloor = sql(
  'policy.raise_floor',
  `update policy_heads set version = version + 1, floor = version + 1
   where workspace_id = $1 and project_id = $2 returning version`,
)
const acceptImported = sql(
  'policy.accept_imported',
  `update policy_heads set floor = version, accepts_imported = true where workspace_id = $1 and project_id = $2`,
)
const openHead = sql(
  'policy.open_head',
  'insert into policy_heads (workspace_id, project_id) values ($1, $2)',
)
const closeHead = sql(
  'policy.close_head',
  `update policy_heads set version = version + 1, project_deleted = true
   where workspace_id = $1 and project_id = $2 and not project_deleted returning version`,
)
const versionOf = sql(
  'policy.version_of',
  `select case when h.project_deleted then ${versionSql('h')} else coalesce(
     (select max(version) from policy_changes where workspace_id = $1 and project_id = $2 and key_id = $3),
     ${versionSql('h')}) end as version, store_raised_at() as raised_at
   from policy_heads h where h.workspace_id = $1 and h.project_id = $2`,
)
const versionsOf = sql(
  'policy.versions_of',
  `select h.project_id, ${versionSql('h')} as version, store_raised_at() as raised_at
   from policy_heads h where h.workspace_id = $1 and h.project_id = any($2::uuid[])`,
)

/** The topic that announces a change of a project's policy. */
export const policyTopic = (workspaceId: string, projectId: string) => `policy ${workspaceId} ${projectId}`

/**
 * Locks the policy heads of several projects in the order of their ids.
 * @returns the projects that are not deleted: only these can have a change noted.
 */
export async function lockPolicyHeads(tx: Tx, projectIds: readonly string[]): Promise<string[]> {
  const values = [tx.workspaceId, projectIds]
  const heads = await tx.query<{ project_id: string; project_deleted: boolean }>(lockHeads, values)
  return heads.filter(head => !head.project_deleted).map(head => head.project_id)
}

/** Raises the version by one and records the keys that changed. The commit fails for a deleted project. */
export function notePolicyChange(tx: Tx, projectId: string, keyIds: readonly string[]): void {
  tx.send(noteChange, [tx.workspaceId, projectId, keyIds])
  tx.announce(policyTopic(tx.workspaceId, projectId))
}

/**
 * Raises the version of every project in which a tenant has keys, so that nodes which show the tenant receive the change:
 * one row per project, however many keys there are. Locks the heads; the caller has locked the tenant.
 * @returns these projects.
 */
export async function noteTenantChange(tx: Tx, tenantId: string): Promise<readonly string[]> {
  const rows = await tx.query<{ project_id: string }>(noteTenant, [tx.workspaceId, tenantId])
  const projectIds = rows.map(({ project_id }) => project_id)
  for (const projectId of projectIds) tx.announce(policyTopic(tx.workspaceId, projectId))
  return projectIds
}

/** As `noteTenantChange`, for a tenant that is suspended or resumed: the next poll of a node that does not know that gets a snapshot. */
export async function noteTenantSuspension(tx: Tx, tenantId: string): Promise<void> {
  const projectIds = await noteTenantChange(tx, tenantId)
  tx.send(noteSuspension, [tx.workspaceId, tenantId, projectIds])
}

/** As `noteTenantChange`, for a tenant that gets networks or loses all: the next poll of a node without `cidr` gets a snapshot. */
export async function noteTenantNetworks(tx: Tx, tenantId: string): Promise<void> {
  const projectIds = await noteTenantChange(tx, tenantId)
  tx.send(noteNetworks, [tx.workspaceId, tenantId, projectIds])
}

/** Raises the version and sets the floor to it: the next poll of every node gets a full snapshot. */
export async function raisePolicyFloor(tx: Tx, projectId: string): Promise<number | null> {
  const [row] = await tx.query<{ version: number }>(raiseFloor, [tx.workspaceId, projectId])
  tx.announce(policyTopic(tx.workspaceId, projectId))
  return row?.version ?? null
}

/**
 * Makes the version of a change just noted the floor, with keys of any form from there on: the next poll of every node gets a full
 * snapshot that says so.
 */
export const acceptImportedKeys = (tx: Tx, projectId: string) =>
  tx.send(acceptImported, [tx.workspaceId, projectId])

export const openPolicyHead = (tx: Tx, projectId: string) => tx.send(openHead, [tx.workspaceId, projectId])

/** Ends the policy of a project. False when it had already ended. */
export async function closePolicyHead(tx: Tx, projectId: string): Promise<boolean> {
  tx.announce(policyTopic(tx.workspaceId, projectId))
  return (await tx.query(closeHead, [tx.workspaceId, projectId])).length > 0
}

export interface VersionOfChange {
  version: number
  /** When a failover last raised all versions, in ms. After another raise the version has no meaning. */
  raisedAt: number | null
}

interface ChangeRow {
  version: number
  raised_at: Date | null
}

/** The version at which a key last changed; the project's version if that is pruned or the whole project was deleted. */
export async function policyVersionOf(tx: Tx, projectId: string, keyId: string): Promise<VersionOfChange> {
  const [row] = await tx.query<ChangeRow>(versionOf, [tx.workspaceId, projectId, keyId])
  return { version: row?.version ?? 1, raisedAt: row?.raised_at?.getTime() ?? null }
}

export interface VersionInProject extends VersionOfChange {
  projectId: string
  /** The environment of the tenant's keys; null: they are in both. */
  env: Env | null
}

/** For each project in which a tenant has keys, the version at which the tenant was last suspended or resumed. */
export async function suspensionVersionsOf(tx: Tx, tenantId: string): Promise<VersionInProject[]> {
  const rows = await tx.query<ChangeRow & { project_id: string; env: Env | null }>(readSuspension, [
    tx.workspaceId,
    tenantId,
  ])
  return rows.map(({ project_id, env, version, raised_at }) => ({
    projectId: project_id,
    env,
    version,
    raisedAt: raised_at?.getTime() ?? null,
  }))
}

/** The newest version of each project. */
export async function policyVersionsOf(
  tx: ReadTx,
  projectIds: readonly string[],
): Promise<Map<string, VersionOfChange>> {
  const rows = await tx.query<ChangeRow & { project_id: string }>(versionsOf, [tx.workspaceId, projectIds])
  return new Map(
    rows.map(row => [row.project_id, { version: row.version, raisedAt: row.raised_at?.getTime() ?? null }]),
  )
}
