import type { Key } from '@keyrail/contract/vendor/keys'

/** When a key works, in milliseconds since 1970. */
export interface Life {
  readonly id: string
  readonly role: 'Predecessor' | 'This key' | 'Successor'
  readonly title: string
  readonly from: number
  /** Null: it has no end. */
  readonly until: number | null
}

interface Span {
  readonly from: number
  readonly until: number
}

export function lifeOf(key: Key, role: Life['role']): Life {
  const ends = [key.revoked_at, key.expires_at].flatMap(at => (at === null ? [] : [Date.parse(at)]))
  return {
    id: key.id,
    role,
    title: `${key.display_prefix}…`,
    from: Date.parse(key.created_at),
    until: ends.length === 0 ? null : Math.min(...ends),
  }
}

/** While both keys work; null when they never do, or when the earlier one has no end. */
export function overlapOf(earlier: Life | undefined, later: Life): Span | null {
  if (earlier === undefined || earlier.until === null) return null
  const until = Math.min(earlier.until, later.until ?? earlier.until)
  return until > later.from ? { from: later.from, until } : null
}

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const minute = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
})
/** Shorter spans have the same day at two places of an axis. */
const daysSpanMs = 4 * 86_400_000

/** What stands below the start, the middle and the end of a time. */
export function axisOf(from: number, until: number, now: number): string[] {
  const format = until - from < daysSpanMs ? minute : day
  return [from, (from + until) / 2, until].map(at => (at === now ? 'Now' : format.format(at)))
}
