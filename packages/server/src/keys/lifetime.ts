import { earlierEnd, lifetimeEnd } from '../lifecycle/lifetime.ts'
import { outlives } from '../lifecycle/overlap.ts'
import { invalidField } from '../platform/refusal.ts'
import { dateOrNull, millisOrNull } from '../platform/time.ts'
import type { KeyRow, ProjectRules } from './rows.ts'

type Rule = Pick<ProjectRules, 'max_key_lifetime_days'>

/**
 * The end of a key that is made now: the one that was asked for, or the last that the project allows.
 * @throws {Refusal} naming `expires_at`
 */
export function endOfNewKey(project: Rule, at: number, asked: string | undefined): Date | null {
  if (asked === undefined) return endWithin(project, at, null)
  const end = dateOrNull(asked)
  assertWithin(project, at, end)
  return end
}

/**
 * The end of a successor: the one of its predecessor, but not later than the project allows. An end that nobody chose, the last one
 * that the project allowed, begins again: to rotate is how a key gets younger.
 */
export function endOfSuccessor(
  project: Rule,
  at: number,
  row: Pick<KeyRow, 'created_at' | 'expires_at' | 'original_expires_at' | 'overlap_ends_at'>,
): Date | null {
  const end = endsWithOverlap(row) ? row.original_expires_at : row.expires_at
  const isOfRule = millisOrNull(end) === lifetimeEnd(row.created_at.getTime(), project.max_key_lifetime_days)
  return endWithin(project, at, isOfRule ? null : end)
}

/** Not later than the project allows. */
function endWithin({ max_key_lifetime_days: days }: Rule, at: number, end: Date | null): Date | null {
  const last = earlierEnd(millisOrNull(end), lifetimeEnd(at, days))
  return last === null ? null : new Date(last)
}

/**
 * Refuses a later end than the project allows. A key that ends later already, from before the rule, may come nearer to it.
 * @throws {Refusal} naming `expires_at`
 */
export function assertEndWithin(project: Rule, { created_at, expires_at }: KeyRow, end: Date | null): void {
  if (outlives(millisOrNull(end), millisOrNull(expires_at))) assertWithin(project, created_at.getTime(), end)
}

function assertWithin({ max_key_lifetime_days: days }: Rule, createdAt: number, end: Date | null): void {
  if (days !== null && outlives(millisOrNull(end), lifetimeEnd(createdAt, days)))
    throw invalidField(
      'expires_at',
      `must be at most ${days} day${days === 1 ? '' : 's'} after the key was made, as the project says`,
    )
}

/** Whether the expiry is the end of an overlap, not a setting. A PATCH may have set an earlier expiry since. */
const endsWithOverlap = ({ expires_at, overlap_ends_at }: Pick<KeyRow, 'expires_at' | 'overlap_ends_at'>) =>
  overlap_ends_at !== null && overlap_ends_at.getTime() === expires_at?.getTime()
