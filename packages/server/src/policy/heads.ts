import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { requireSame } from '../platform/db/timeline.ts'
import { findHeads, type PolicyHead } from './sql.ts'

export interface ProjectRef {
  workspaceId: string
  projectId: string
}

export const refKey = ({ workspaceId, projectId }: ProjectRef) => `${workspaceId}/${projectId}`

/** Reads where policies stand. Nodes of one project that ask at once share a row. */
export type Heads = Lane<ProjectRef, PolicyHead | null>

export function openHeads(connection: Connection, observer: LaneObserver): Heads {
  return openLane<ProjectRef, PolicyHead | null>(
    connection,
    {
      name: 'policy_head',
      statement: findHeads,
      repeatable: true,
      nameOf: refKey,
      values: refs => [refs.map(ref => ref.workspaceId), refs.map(ref => ref.projectId)],
      answers(rows, refs) {
        const heads: (PolicyHead | null)[] = refs.map(() => null)
        requireSame(rows[0])
        for (const { place, version, floor, deleted } of rows) {
          if (version === null) continue
          heads[Number(place) - 1] = {
            version: Number(version),
            floor: Number(floor),
            deleted: deleted === true,
          }
        }
        return heads
      },
    },
    observer,
  )
}
