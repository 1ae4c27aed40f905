import type { PolicyHead } from '../gate/read-head.ts'
import { requireSame } from '../platform/db/failover/timeline.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Row } from '../platform/db/lanes/spec.ts'
import { findHeads } from './sql.ts'

export interface ProjectRef {
  workspaceId: string
  projectId: string
}

export const refKey = ({ workspaceId, projectId }: ProjectRef) => `${workspaceId}/${projectId}`

/** Null: the workspace has no such project, so its row has no version. */
export const toHead = ({ version, floor, deleted, imports }: Row): PolicyHead | null =>
  version === null
    ? null
    : {
        version: Number(version),
        floor: Number(floor),
        deleted: deleted === true,
        imports: imports === true,
      }

/** Reads policy heads. Concurrent requests of one project share a row. */
export type Heads = Lane<ProjectRef, PolicyHead | null>

export function openHeads(lanes: Lanes): Heads {
  return lanes.open<ProjectRef, PolicyHead | null>({
    name: 'policy_head',
    shares: 'reads',
    statement: findHeads,
    repeatable: true,
    nameOf: refKey,
    values: refs => [refs.map(ref => ref.workspaceId), refs.map(ref => ref.projectId)],
    answers(rows, refs) {
      const heads: (PolicyHead | null)[] = refs.map(() => null)
      requireSame(rows[0])
      for (const row of rows) heads[Number(row.place) - 1] = toHead(row)
      return heads
    },
  })
}
