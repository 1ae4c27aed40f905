import type { RateLimit } from '@keyrail/contract/shared'
import { draftsOf, faultOfDrafts, type LimitDraft, rulesOf } from '../../components/limit-draft.ts'

/** The limits of a key while a person edits them. */
export interface LimitsDraft {
  readonly kind: 'inherit' | 'none' | 'own'
  readonly rules: readonly LimitDraft[]
}

/** @param limits null inherits, an empty array is no limit */
export function draftLimits(limits: readonly RateLimit[] | null): LimitsDraft {
  if (limits === null) return { kind: 'inherit', rules: [] }
  return limits.length === 0 ? { kind: 'none', rules: [] } : { kind: 'own', rules: draftsOf(limits) }
}

export function readLimits({ kind, rules }: LimitsDraft): RateLimit[] | null {
  if (kind === 'inherit') return null
  return kind === 'none' ? [] : rulesOf(rules)
}

export function faultOfLimits({ kind, rules }: LimitsDraft): string | null {
  if (kind !== 'own') return null
  return rules.length === 0 ? 'Add a limit, or choose none.' : faultOfDrafts(rules)
}
