import type { Connection } from '../platform/db/connection.ts'
import type { LaneObserver } from '../platform/db/lane.ts'
import { type Answers, openAnswers } from './answers.ts'
import { type Claims, openClaims } from './claims.ts'
import { type Ends, openEnds } from './ends.ts'

/** The lanes of idempotent requests. Nothing is kept here between two calls: every process asks the store. */
export interface Idempotency {
  readonly claims: Claims
  readonly ends: Ends
  readonly answers: Answers
  close(): Promise<void>
}

export function openIdempotency(connection: Connection, observer: LaneObserver): Idempotency {
  const claims = openClaims(connection, observer)
  const ends = openEnds(connection, observer)
  const answers = openAnswers(connection, observer)
  return {
    claims,
    ends,
    answers,
    async close() {
      await Promise.all([claims.close(), ends.close(), answers.close()])
    },
  }
}
