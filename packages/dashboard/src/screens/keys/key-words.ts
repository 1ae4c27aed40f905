import type { Key } from '@keyrail/contract/vendor/keys'
import { windowOf } from '../../components/limits-in-words.ts'

/** What is known about keys, in words. */

const soonMs = 14 * 86_400_000

export type KeyState = 'Active' | 'Expires soon' | 'Paused' | 'Expired' | 'Revoked'

export function stateOf({ revoked_at, disabled_at, expires_at }: Key, now = Date.now()): KeyState {
  if (revoked_at !== null) return 'Revoked'
  const left = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - now
  if (left <= 0) return 'Expired'
  // A service that is older than the page sends no `disabled_at`.
  if (disabled_at) return 'Paused'
  return left <= soonMs ? 'Expires soon' : 'Active'
}

export const titleOf = ({ name, display_prefix }: Pick<Key, 'name' | 'display_prefix'>): string =>
  name ?? `${display_prefix}…`

const number = new Intl.NumberFormat('en')

/** The limits of a key in a cell of a table. */
export function sayLimits(limits: Key['rate_limits']): string {
  if (limits === null) return 'Inherited'
  const [first, ...more] = limits
  if (first === undefined) return 'None'
  const { amount, unit } = windowOf(first.window_ms)
  const span = amount === 1 ? unit.name : `${number.format(amount)} ${unit.name}s`
  const short = `${number.format(first.limit)} / ${span}`
  return more.length === 0 ? short : `${short} + ${more.length}`
}
