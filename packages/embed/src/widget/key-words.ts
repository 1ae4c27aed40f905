import type { EmbedKey } from '../types.ts'
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

/** Who has paused a key; null for one that works. A service that is older than the widget pauses none. */
export function pausedBy({ disabled_at, disabled_by }: EmbedKey, { words, keyring }: At): string | null {
  if (!disabled_at) return null
  // Beside a newer process that lists the key, an older one may have sent the session.
  const vendor = keyring.shown().session?.vendor?.name ?? ''
  return disabled_by === 'tenant' ? words.text('pausedByYou') : words.text('pausedBy', { vendor })
}

/** Until when the old key of a rotation works. */
export const oldEndsOf = (end: string | number, { words, keyring }: At): string =>
  Number(new Date(end)) <= keyring.now()
    ? words.text('oldEndsNow')
    : words.text('oldEnds', { date: words.moment(end) })
