import type { Paging } from '@keyrail/contract/shared'
import type { Project, ProjectCreate, ProjectList, ProjectUpdate } from '@keyrail/contract/vendor/projects'
import { actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Caller } from '../gate/caller.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import { assertSeesProject, type Principal, type VendorPrincipal } from '../gate/principal.ts'
import { countByEnv, revokeKeysOfParent } from '../keys/cascade.ts'
import { toRateLimit } from '../keys/resource.ts'
import { assertUnprotected } from '../lifecycle/protection.ts'
import { cascadeMs, type Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { page } from '../platform/paging/cursor.ts'
import { listedOne } from '../platform/paging/listed.ts'
import { isFoundBy, readSearch, type Search } from '../platform/paging/prefix.ts'
import { type Part, partOfOne, readParts, writePosition } from '../platform/paging/walks.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { closePolicyHead, lockPolicyHeads, openPolicyHead, raisePolicyFloor } from '../policy/changes.ts'
import {
  type FoundProjectRow,
  findProject,
  insertProject,
  listProjectRows,
  lockProject,
  markProjectDeleted,
  type ProjectRow,
  type projectSearches,
  searchProjectRows,
  updateProjectRow,
  type VersionedProjectRow,
} from './sql.ts'

/** What nodes know of a project: its default limits, and after how many days they refuse its keys. */
const mayConcernNodes = (body: ProjectUpdate): boolean =>
  'default_rate_limits' in body || 'max_key_lifetime_days' in body || 'lifetime' in body
const refusedAfter = ({ lifetime, max_key_lifetime_days }: ProjectRow) =>
  lifetime === 'refuse' ? max_key_lifetime_days : null

/** The policy version of a new project. */
const firstVersion = 1

export function createProject(
  { deps, db, principal }: Caller<CommonNeeds>,
  body: ProjectCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    db,
    principal.workspaceId,
    replay,
    async tx => {
      const at = deps.clock.now()
      const row: ProjectRow = {
        id: deps.makeId(),
        name: body.name,
        slug: body.slug,
        key_prefix: body.key_prefix ?? 'kr',
        default_rate_limits: body.default_rate_limits ?? [],
        known_scopes: listOrNull(body.known_scopes ?? []),
        strict_scopes: body.strict_scopes ?? false,
        max_key_lifetime_days: body.max_key_lifetime_days ?? null,
        lifetime: body.lifetime ?? 'report',
        delete_protection: body.delete_protection ?? false,
        accepts_imported: false,
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

export async function getProject(db: Db, principal: VendorPrincipal, id: string): Promise<Project> {
  assertSeesProject(principal, id)
  const row = await db.readAtOnce(principal.workspaceId, tx => findProject(tx, id))
  if (row === null) throw new Refusal('not_found')
  return seenBy(principal, row)
}

export async function listProjects({ deps, db, principal }: Caller<CommonNeeds>, query: ProjectList) {
  const { slug, ids, q, limit, cursor } = query
  const search = q === undefined ? null : readSearch(q)
  if (search !== null && slug === undefined) {
    return await searchProjects({ deps, db, principal }, search, query)
  }
  const { workspaceId, projectIds } = principal
  const before = cursor === undefined ? null : deps.cursors.open('projects', workspaceId, cursor)
  const only = ids?.filter(id => projectIds?.includes(id.toLowerCase()) ?? true) ?? projectIds
  const listed = await db.readAtOnce(workspaceId, tx =>
    listProjectRows(tx, only, slug ?? null, before, limit),
  )
  return page(
    // At most one project has the slug.
    search === null ? listed : listedOne(listed.rows.filter(row => isFoundBy(search, row))),
    limit,
    row => seenBy(principal, row),
    last => deps.cursors.seal('projects', workspaceId, last.id),
  )
}

/** The project with this id, then those with such a name, then those with such a further word, each sorted by it. */
async function searchProjects(
  { deps: { cursors }, db, principal }: Caller<CommonNeeds>,
  { id, range }: Search,
  { limit, cursor }: Paging,
) {
  const { workspaceId, projectIds } = principal
  const list = `projects ${range.first}`
  const after = cursor === undefined ? null : cursors.open(list, workspaceId, cursor)
  const found = await db.inWorkspace(workspaceId, tx => {
    const findSeen = async (id: string) =>
      projectIds === null || projectIds.includes(id) ? await findProject(tx, id) : null
    const by = (
      found: keyof typeof projectSearches,
      placeOf: (row: FoundProjectRow) => string,
    ): Part<FoundProjectRow> => ({
      order: 'rising',
      placeOf,
      walks: [(after, bounds) => searchProjectRows(tx, found, range, { id, projectIds }, after, bounds)],
    })
    return readParts<VersionedProjectRow>(
      [
        ...(id === null ? [] : [partOfOne(() => findSeen(id))]),
        by('name', row => row.name_folded),
        by('word', row => row.word ?? ''),
      ],
      after,
      limit,
    )
  })
  return page(
    found,
    limit,
    ({ row }) => seenBy(principal, row),
    ({ position }) => cursors.seal(list, workspaceId, writePosition(position)),
  )
}

/**
 * Replaces the fields that the body names. New default limits change what every key without its own limits may do, and a new
 * lifetime when each key ends, so the floor rises with the version and every node fetches the whole policy again.
 */
export async function updateProject(
  { deps, db, principal }: Caller<CommonNeeds>,
  id: string,
  body: ProjectUpdate,
) {
  assertSeesProject(principal, id)
  return db.inWorkspace(principal.workspaceId, async tx => {
    // Locked first, as the lock order requires, and only when it may change.
    if (mayConcernNodes(body)) await lockPolicyHeads(tx, [id])
    const locked = await lockProject(tx, id)
    const found = locked === null ? null : await findProject(tx, id)
    if (locked === null || found === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    const next: VersionedProjectRow = {
      ...found,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.slug !== undefined && { slug: body.slug }),
      ...(body.default_rate_limits !== undefined && { default_rate_limits: body.default_rate_limits }),
      ...(body.known_scopes !== undefined && { known_scopes: listOrNull(body.known_scopes) }),
      ...(body.strict_scopes !== undefined && { strict_scopes: body.strict_scopes }),
      ...(body.max_key_lifetime_days !== undefined && { max_key_lifetime_days: body.max_key_lifetime_days }),
      ...(body.lifetime !== undefined && { lifetime: body.lifetime }),
      ...(body.delete_protection !== undefined && { delete_protection: body.delete_protection }),
      updated_at: new Date(at),
    }
    const changes = changesOf(toProject(found), toProject(next))
    if (Object.keys(changes).length === 0) return toProject(found)
    updateProjectRow(tx, next)
    if ('default_rate_limits' in changes || refusedAfter(found) !== refusedAfter(next)) {
      next.policy_version = (await raisePolicyFloor(tx, id)) ?? next.policy_version
    }
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...target(id), action: 'project.updated', payload: changes },
    ])
    return toProject(next)
  })
}

/** Deletes a project and revokes every key under it, in one transaction. */
export async function deleteProject({ deps, db, principal }: Caller<CommonNeeds>, id: string) {
  assertSeesProject(principal, id)
  return db.inWorkspace(
    principal.workspaceId,
    async tx => {
      if (!(await closePolicyHead(tx, id))) throw new Refusal('not_found')
      assertUnprotected(await lockProject(tx, id))
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

const listOrNull = (scopes: string[]) => (scopes.length === 0 ? null : scopes)

/** Live keys raise the version too, so a test credential does not see it: it could count their changes. */
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
  known_scopes: row.known_scopes ?? [],
  strict_scopes: row.strict_scopes,
  max_key_lifetime_days: row.max_key_lifetime_days,
  lifetime: row.lifetime,
  delete_protection: row.delete_protection,
  accepts_imported: row.accepts_imported,
  policy_version: row.policy_version,
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})
