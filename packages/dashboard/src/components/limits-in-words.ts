import type { RateLimit } from '@keyrail/contract/shared'

/** Rate limits as a person says them. */

/** The longest first. */
export const windowUnits = [
  { name: 'day', one: 'a day', ms: 86_400_000 },
  { name: 'hour', one: 'an hour', ms: 3_600_000 },
  { name: 'minute', one: 'a minute', ms: 60_000 },
  { name: 'second', one: 'a second', ms: 1_000 },
] as const
export type WindowUnit = (typeof windowUnits)[number]['name']

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 3 })

/** The longest unit of which the window is a whole number; seconds otherwise. */
export function windowOf(ms: number): {
  readonly amount: number
  readonly unit: (typeof windowUnits)[number]
} {
  const unit = windowUnits.find(one => ms % one.ms === 0) ?? windowUnits[3]
  return { amount: ms / unit.ms, unit }
}

/** One rule: "100 requests a minute, sliding, per key". */
export function limitInWords({ limit, window_ms, algorithm, scope }: Omit<RateLimit, 'id'>): string {
  const { amount, unit } = windowOf(window_ms)
  const span = amount === 1 ? unit.one : `every ${count.format(amount)} ${unit.name}s`
  return `${count.format(limit)} ${limit === 1 ? 'request' : 'requests'} ${span}, ${algorithm}, per ${scope}`
}

/** All rules in one line. */
export const limitsInWords = (rules: readonly RateLimit[]): string =>
  rules.length === 0 ? 'No limits' : rules.map(limitInWords).join('; ')
