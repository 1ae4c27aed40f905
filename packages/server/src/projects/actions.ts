import type { Project, ProjectCreate, ProjectList, ProjectUpdate } from '@keyrail/contract/vendor/projects'
import { actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Deps } from '../deps.ts'
import { assertSeesProject, type Principal, type VendorPrincipal } from '../gate/principal.ts'
import { countByEnv, revokeKeysOfParent } from '../keys/cascade.ts'
import { toRateLimit } from '../keys/resource.ts'
import { page } from '../platform/cursor.ts'
import { cascadeMs } from '../platform/db/pool.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { closePolicyHead, lockPolicyHeads, openPolicyHead, raisePolicyFloor } from '../policy/changes.ts'
import {
  findProject,
  insertProject,
  listProjectRows,
  lockProject,
  markProjectDeleted,
  type ProjectRow,
  updateProjectRow,
  type VersionedProjectRow,
} from './sql.ts'

/** The version of a project whose policy nobody has changed. */
const firstVersion = 1

export function createProject(
  deps: Deps,
  principal: VendorPrincipal,
  body: ProjectCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    deps.db,
    principal.workspaceId,
    replay,
    201,
    async tx => {
      const at = deps.clock.now()
      const row: ProjectRow = {
        id: deps.makeId(),
        name: body.name,
        slug: body.slug,
        key_prefix: body.key_prefix ?? 'kr',
        default_rate_limits: body.default_rate_limits ?? [],
        created_at: new Date(at),
        updated_at: new Date(at),
      }
      insertProject(tx, row)
      openPolicyHead(tx, row.id)
      const project = toProject({ ...row, policy_version: firstVersion })
      appendAudit(deps, tx, actorOf(principal), at, [
        { ...target(row.id), action: 'project.created', payload: { ...project } },
      ])
      return project
    },
    project => project,
  )
}

export async function getProject({ db }: Deps, principal: VendorPrincipal, id: string): Promise<Project> {
  assertSeesProject(principal, id)
  const row = await db.inWorkspace(principal.workspaceId, tx => findProject(tx, id))
  if (row === null) throw new Refusal('not_found')
  return seenBy(principal, row)
}

export async function listProjects(
  { db, cursors }: Deps,
  principal: VendorPrincipal,
  { slug, limit = 50, cursor }: ProjectList,
) {
  const { workspaceId, projectIds } = principal
  const before = cursor === undefined ? null : cursors.open('projects', workspaceId, cursor)
  const rows = await db.inWorkspace(workspaceId, tx =>
    listProjectRows(tx, projectIds, slug ?? null, before, limit),
  )
  return page(
    rows,
    limit,
    row => seenBy(principal, row),
    last => cursors.seal('projects', workspaceId, last.id),
  )
}

/**
 * Replaces the fields that the body names. New default limits change what every key without limits of its
 * own may do, so the floor rises with the version: every node fetches the whole policy anew.
 */
export async function updateProject(deps: Deps, principal: VendorPrincipal, id: string, body: ProjectUpdate) {
  assertSeesProject(principal, id)
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    // The head first, as the lock order has it, though only new limits will change it.
    if (body.default_rate_limits !== undefined) await lockPolicyHeads(tx, [id])
    const locked = await lockProject(tx, id)
    const found = locked === null ? null : await findProject(tx, id)
    if (locked === null || found === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    const next: VersionedProjectRow = {
      ...found,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.slug !== undefined && { slug: body.slug }),
      ...(body.default_rate_limits !== undefined && { default_rate_limits: body.default_rate_limits }),
      updated_at: new Date(at),
    }
    const changes = changesOf(toProject(found), toProject(next))
    if (Object.keys(changes).length === 0) return toProject(found)
    updateProjectRow(tx, next)
    if ('default_rate_limits' in changes) {
      next.policy_version = (await raisePolicyFloor(tx, id)) ?? next.policy_version
    }
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...target(id), action: 'project.updated', payload: changes },
    ])
    return toProject(next)
  })
}

/** Deletes a project and revokes every key under it, in one transaction. */
export async function deleteProject(deps: Deps, principal: VendorPrincipal, id: string) {
  assertSeesProject(principal, id)
  return deps.db.inWorkspace(
    principal.workspaceId,
    async tx => {
      if (!(await closePolicyHead(tx, id))) throw new Refusal('not_found')
      const at = deps.clock.now()
      const revoked = await revokeKeysOfParent(tx, 'project', id, at)
      markProjectDeleted(tx, id, new Date(at))
      appendAudit(deps, tx, actorOf(principal), at, [
        { ...target(id), action: 'project.deleted', payload: { keys_revoked: countByEnv(revoked) } },
        ...revoked,
      ])
      return { object: 'project', id, deleted: true }
    },
    { longWorkMs: cascadeMs },
  )
}

const target = (id: string) => ({ targetType: 'project' as const, targetId: id, env: null })

/** The version rises with live keys too, so that a test credential would count their changes by it. */
const seenBy = (principal: Principal, row: VersionedProjectRow): Project => ({
  ...toProject(row),
  ...(principal.reach === 'test' && { policy_version: null }),
})

const toProject = (row: VersionedProjectRow): Project => ({
  object: 'project',
  id: row.id,
  name: row.name,
  slug: row.slug,
  key_prefix: row.key_prefix,
  default_rate_limits: row.default_rate_limits.map(toRateLimit),
  policy_version: row.policy_version,
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})
