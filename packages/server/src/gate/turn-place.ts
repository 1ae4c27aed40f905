import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { TurnPath } from '../platform/concurrency/turn-tree.ts'
import type { TurnPlace } from '../platform/db/pool/shares.ts'
import type { FindMakers, Made } from './makers.ts'
import type { Principal } from './principal.ts'

/** Levels of keys that are distinguished; a key further below is a name of the last of these levels. */
const levelsMax = 256

/**
 * Where a request stands in the queue of its workspace, so that no caller keeps out those who could end it. Turns go by person, then
 * down the tree of makers: at each secret key, the key itself and the keys below each key that it made take turns. So who
 * revokes a key never waits behind what that key sends, and all keys that a thief makes count as one. The browsers of tenants
 * share a part of the turns, in which tenants take turns.
 */
export async function placeOf(
  principal: Principal,
  makers: FindMakers,
  deadline: Deadline,
): Promise<TurnPlace | undefined> {
  const { kind, id, workspaceId, sessionId, embed } = principal
  if (embed !== undefined) return { path: [embed.tenant.id], isMinor: true }
  // The sessions of a person are one name beside the keys that the person made, and take turns in it.
  if (kind === 'session') return { path: [`user ${id}`, 'sessions', String(sessionId)], isMinor: false }
  if (kind !== 'secret_key' || workspaceId === null || id === null) return undefined
  return { path: pathTo(await makers.run(workspaceId, id, deadline)), isMinor: false }
}

function pathTo(made: Made): TurnPath {
  const path: string[] = [made.name]
  for (let at = made.maker; at !== null; at = at.maker) if (at.depth < levelsMax) path.push(at.name)
  return path.reverse()
}
