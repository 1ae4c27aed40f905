import type { FleetNode, NodeList } from '@keyrail/contract/vendor/nodes'
import type { Caller } from '../gate/caller.ts'
import { assertSeesProject, type Principal } from '../gate/principal.ts'
import { page } from '../platform/paging/cursor.ts'
import { mapListed } from '../platform/paging/listed.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import type { PolicyNeeds } from './needs.ts'
import { type FleetRow, listFleet, type NodePlace } from './nodes-sql.ts'
import { readOpenHead } from './sql.ts'

/** The nodes of a project, the last seen first. A test credential sees those that hold nothing of live. */
export async function listNodes(
  { deps: { cursors }, db, principal }: Caller<Pick<PolicyNeeds, 'cursors'>>,
  projectId: string,
  { limit, cursor }: NodeList,
) {
  assertSeesProject(principal, projectId)
  const { workspaceId, reach } = principal
  // The cursor names its project, so that it is refused on the list of another.
  const list = `nodes ${projectId.toLowerCase()}`
  const after = cursor === undefined ? null : toPlace(cursors.open(list, workspaceId, cursor))
  const rows = await db.readAtOnce(workspaceId, async tx => {
    const [version, found] = await Promise.all([
      readOpenHead(tx, projectId),
      listFleet(tx, projectId, reach, after, limit),
    ])
    if (version === null) throw new Refusal('not_found')
    return mapListed(found, row => ({ ...row, behind: Math.max(version - row.version, 0) }))
  })
  return page(
    rows,
    limit,
    row => seenBy(principal, row),
    last => cursors.seal(list, workspaceId, JSON.stringify([last.seen_at, last.sees, last.node])),
  )
}

/** A test credential sees no version, as in a project: it could count changes of live keys. */
const seenBy = (
  { reach }: Principal,
  { node, sees, version, held_keys, held_keys_max, seen_at, is_live, behind }: FleetRow & { behind: number },
): FleetNode => ({
  node,
  env: sees,
  version: reach === 'test' ? null : version,
  behind: reach === 'test' ? null : behind,
  held_keys,
  held_keys_max,
  seen_at: iso(seen_at),
  live: is_live,
})

/** Reads the position of a cursor, whose seal was verified. */
function toPlace(position: string): NodePlace {
  const [seenAt, sees, node] = JSON.parse(position)
  return { seen_at: new Date(seenAt), sees, node }
}
