import type { Connection } from '../platform/db/connection.ts'
import type { LaneObserver } from '../platform/db/lane.ts'
import { type Answers, openAnswers } from './answers.ts'
import { type Claims, openClaims } from './claims.ts'
import { type Ends, openEnds } from './ends.ts'
import type { StoredBytes } from './stored-bytes.ts'

/**
 * The lanes of idempotent requests. No record is kept here between two calls: every process asks the store. What a
 * workspace has stored is known about.
 */
export interface Idempotency {
  readonly claims: Claims
  readonly ends: Ends
  readonly answers: Answers
  readonly storedBytes: StoredBytes
  close(): Promise<void>
}

export function openIdempotency(
  connection: Connection,
  observer: LaneObserver,
  storedBytes: StoredBytes,
): Idempotency {
  const claims = openClaims(connection, observer)
  const ends = openEnds(connection, observer)
  const answers = openAnswers(connection, observer)
  return {
    claims,
    ends,
    answers,
    storedBytes,
    async close() {
      await Promise.all([claims.close(), ends.close(), answers.close()])
      await storedBytes.close()
    },
  }
}
