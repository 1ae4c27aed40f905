import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { findHeads, type PolicyHead } from './sql.ts'

export interface ProjectRef {
  workspaceId: string
  projectId: string
}

export const refKey = ({ workspaceId, projectId }: ProjectRef) => `${workspaceId}/${projectId}`

/** Reads where policies stand. Nodes of one project that ask at once share a row. */
export type Heads = Lane<ProjectRef, PolicyHead | null>

export function openHeads(connection: Connection, observer: LaneObserver): Heads {
  const distinct = (refs: readonly ProjectRef[]) => new Map(refs.map(ref => [refKey(ref), ref]))
  return openLane<ProjectRef, PolicyHead | null>(
    connection,
    {
      name: 'policy_head',
      statement: findHeads,
      repeatable: true,
      values(refs) {
        const asked = [...distinct(refs).values()]
        return [asked.map(ref => ref.workspaceId), asked.map(ref => ref.projectId)]
      },
      answers(rows, refs) {
        const keys = [...distinct(refs).keys()]
        const heads = new Map(
          rows.map(({ place, version, floor, deleted }) => [
            keys[Number(place) - 1],
            { version: Number(version), floor: Number(floor), deleted: deleted === true },
          ]),
        )
        return refs.map(ref => heads.get(refKey(ref)) ?? null)
      },
    },
    observer,
  )
}
