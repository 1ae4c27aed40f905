import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { findLeaked, type LeakedKind } from './sql.ts'

export interface Leaked {
  kind: LeakedKind
  id: string
  /** Null for a session that acts in none. */
  workspaceId: string | null
  /** Of a session: the workspaces of which its person is a member or was one. */
  allOfPerson: readonly string[]
  /** Of whom a session is; null for other kinds, and for a session that is gone. */
  userId: string | null
}

/** What a token is, of any workspace, by its SHA-256; null when nobody was issued it. */
export type FindLeaked = Lane<Buffer, Leaked | null>

export function openFindLeaked(connection: Connection, observer: LaneObserver): FindLeaked {
  return openLane(
    connection,
    {
      name: 'leaked',
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
          }
        }
        return answers
      },
    },
    observer,
  )
}
