import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { type Answers, openAnswers } from './answers.ts'
import { type Claims, openClaims } from './claims.ts'
import { type Ends, openEnds } from './ends.ts'
import type { StoredBytes } from './stored-bytes.ts'

/**
 * The lanes of idempotent requests. A process keeps no record between two calls and always asks the store. It only keeps
 * an estimate of how many bytes each workspace has stored.
 */
export interface Idempotency {
  readonly claims: Claims
  readonly ends: Ends
  readonly answers: Answers
  readonly storedBytes: StoredBytes
}

export const openIdempotency = (lanes: Lanes, storedBytes: StoredBytes): Idempotency => ({
  claims: openClaims(lanes),
  ends: openEnds(lanes),
  answers: openAnswers(lanes),
  storedBytes,
})
