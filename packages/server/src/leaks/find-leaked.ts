import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { findLeaked, type LeakedKind } from './sql.ts'

export interface Leaked {
  kind: LeakedKind
  id: string
  /** Null for a session without a workspace. */
  workspaceId: string | null
  /** For a session: the workspaces of which its person is or was a member. */
  allOfPerson: readonly string[]
  /** The person of a session; null for other kinds, and for a session that does not exist any more. */
  userId: string | null
  /** The project of an API key; null for other kinds. */
  projectId: string | null
}

/** Finds the credential of any workspace by the SHA-256 of its token; null when it was never issued here. */
export type FindLeaked = Lane<Buffer, Leaked | null>

export function openFindLeaked(lanes: Lanes): FindLeaked {
  return lanes.open({
    name: 'leaked',
    shares: 'rights',
    statement: findLeaked,
    repeatable: true,
    values: digests => [digests],
    answers: (rows, digests) => {
      const answers: (Leaked | null)[] = digests.map(() => null)
      for (const row of rows) {
        answers[Number(row.place) - 1] = {
          kind: row.kind as LeakedKind,
          id: String(row.id),
          workspaceId: row.workspace_id as string | null,
          allOfPerson: row.all_of_person as string[],
          userId: row.user_id as string | null,
          projectId: row.project_id as string | null,
        }
      }
      return answers
    },
  })
}
