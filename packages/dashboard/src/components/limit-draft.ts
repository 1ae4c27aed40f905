import type { RateLimit } from '@keyrail/contract/shared'
import { type WindowUnit, windowOf, windowUnits } from './limits-in-words.ts'

/** A rate limit while a person types it. A form holds drafts: `draftsOf` before, `rulesOf` after. */
export interface LimitDraft {
  /** Distinguishes the drafts of a form. */
  readonly key: string
  readonly id: string
  readonly limit: string
  readonly amount: string
  readonly unit: WindowUnit
  readonly algorithm: RateLimit['algorithm']
  readonly scope: RateLimit['scope']
}

export const limitsMax = 8

let made = 0
const nextKey = () => `limit-${++made}`

export const draftsOf = (rules: readonly RateLimit[]): LimitDraft[] =>
  rules.map(({ id, limit, window_ms, algorithm, scope }) => {
    const { amount, unit } = windowOf(window_ms)
    return {
      key: nextKey(),
      id,
      limit: String(limit),
      amount: String(amount),
      unit: unit.name,
      algorithm,
      scope,
    }
  })

/** A rule to start from, with an id that no other draft has. */
export function newDraft(others: readonly LimitDraft[]): LimitDraft {
  const ids = ['requests', ...Array.from({ length: limitsMax }, (_, at) => `requests-${at + 2}`)]
  const id = ids.find(one => others.every(other => other.id !== one)) ?? ''
  return { key: nextKey(), id, limit: '100', amount: '1', unit: 'minute', algorithm: 'sliding', scope: 'key' }
}

/** What to fix in the fields of one draft. Empty: nothing. */
export type DraftFaults = Partial<Record<'id' | 'limit' | 'amount', string>>

/** "1,000,000" and "1 000 000" are numbers too. */
const numberOf = (text: string) => {
  const digits = text.replace(/[\s,_]/g, '')
  return digits === '' ? Number.NaN : Number(digits)
}
const windowMsOf = ({ amount, unit }: LimitDraft) =>
  Math.round(numberOf(amount) * (windowUnits.find(({ name }) => name === unit)?.ms ?? Number.NaN))

export function faultsOf(draft: LimitDraft, all: readonly LimitDraft[]): DraftFaults {
  const faults: DraftFaults = {}
  const limit = numberOf(draft.limit)
  const windowMs = windowMsOf(draft)
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(draft.id))
    faults.id = 'Use small letters, digits, dots, hyphens and underscores, 64 at most.'
  else if (all.some(({ key, id }) => key !== draft.key && id === draft.id))
    faults.id = 'Another limit has this name.'
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000_000_000)
    faults.limit = 'Enter a whole number from 1 to 1,000,000,000.'
  if (!(windowMs >= 1_000 && windowMs <= 2_678_400_000)) faults.amount = 'A window has 1 second to 31 days.'
  return faults
}

/** The rule that a draft makes; null while it has a fault. */
export function ruleOf(draft: LimitDraft, all: readonly LimitDraft[]): RateLimit | null {
  if (Object.keys(faultsOf(draft, all)).length > 0) return null
  const { id, algorithm, scope } = draft
  return { id, limit: numberOf(draft.limit), window_ms: windowMsOf(draft), algorithm, scope }
}

/** For `validate` of a form. */
export const faultOfDrafts = (drafts: readonly LimitDraft[]): string | null =>
  drafts.every(draft => ruleOf(draft, drafts) !== null) ? null : 'Fix the marked fields.'

/** What a form sends. Only for drafts without a fault. */
export const rulesOf = (drafts: readonly LimitDraft[]): RateLimit[] =>
  drafts.flatMap(draft => ruleOf(draft, drafts) ?? [])
