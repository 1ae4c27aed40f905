import type { EmbedKey, EmbedSession } from '../types.ts'
import type { At } from './at.ts'
import type { Words } from './words/words.ts'

export const nameOf = ({ name }: EmbedKey, words: Words): string => name ?? words.text('unnamed')

export const prefixOf = ({ display_prefix }: EmbedKey): string => `${display_prefix}…`

/** @param now the service's time. */
export const hasEnded = ({ expires_at }: EmbedKey, now: number): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now

/** When the key was made and used, and until when it works. */
export function lifeOf(key: EmbedKey, { words, keyring, hasDates }: At): string[] {
  const { created_at, last_used_at, expires_at, rotated_to } = key
  // A text of about the same length holds the space of a date.
  const date = hasDates ? words.day : (iso: string) => iso.slice(0, 11)
  const moment = hasDates ? words.moment : (iso: string) => iso
  const lines = [
    words.text('made', { date: date(created_at) }),
    last_used_at === null ? words.text('unused') : words.text('used', { date: date(last_used_at) }),
  ]
  if (hasEnded(key, keyring.now())) lines.push(words.text('expired'))
  else if (expires_at !== null && rotated_to !== null)
    lines.push(words.text('ends', { date: moment(expires_at) }))
  else if (expires_at !== null) lines.push(words.text('expires', { date: date(expires_at) }))
  return lines
}

/** Beside a newer process that lists the keys, an older one may have sent the session. */
export const vendorOf = (session: EmbedSession | null): string => session?.vendor?.name ?? ''

/** Who has paused a key; null for one that works. A service that is older than the widget pauses none. */
export function pausedBy({ disabled_at, disabled_by }: EmbedKey, { words, keyring }: At): string | null {
  if (!disabled_at) return null
  const vendor = vendorOf(keyring.shown().session)
  return words.text(disabled_by === 'tenant' ? 'pausedByYou' : 'pausedBy', { vendor })
}

/** Why the service does not change a key that is not active, as the list has it since. */
export function inactiveBy(id: string | undefined, at: At): string {
  const key = at.keyring.shown().keys?.find(one => one.id === id)
  const paused = key && !hasEnded(key, at.keyring.now()) ? pausedBy(key, at) : null
  return paused ?? at.words.text('notActive')
}

/** Until when the old key of a rotation works. */
export const oldEndsOf = (end: string | number, { words, keyring }: At): string =>
  Number(new Date(end)) <= keyring.now()
    ? words.text('oldEndsNow')
    : words.text('oldEnds', { date: words.moment(end) })
