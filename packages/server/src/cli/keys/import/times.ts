import { LeftOut, RowFault } from './rows.ts'

/** A date, or a date and a time with or without a zone, as ISO 8601 and databases write them. */
const timeForm =
  /^([1-9]\d{3})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/

/** Smaller numbers are no time of a key: seconds before March 1973. */
const unixLeast = 100_000_000
/** Smaller ones are seconds, the others milliseconds. */
const millisLeast = 100_000_000_000
/** The end of the year 9999: later ones have another form. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * A time as the service takes it; undefined for an absent, null or empty one. A date alone is its midnight, and a text without a
 * zone is UTC.
 * @throws {RowFault} naming the member
 */
export function timeOf(value: unknown, member: string): string | undefined {
  if (value === undefined || value === null) return undefined
  const given = typeof value === 'string' ? value.trim() : value
  if (given === '') return undefined
  const at = typeof given === 'number' ? unixOf(given, member) : writtenOf(given, member)
  if (at > latest) throw new RowFault(`${member} is later than the year 9999`)
  return new Date(at).toISOString()
}

/** @throws {LeftOut} if the key has ended: it would be imported as expired */
export function endOf(value: unknown, member: string, now: number): string | undefined {
  const at = timeOf(value, member)
  if (at !== undefined && Date.parse(at) <= now) throw new LeftOut('ended', `expired at ${at}`)
  return at
}

function unixOf(number: number, member: string): number {
  if (number === 0) throw new RowFault(`${member} is 0: write it empty for never`)
  if (!(number >= unixLeast)) throw new RowFault(`${member} is not a Unix time in seconds or milliseconds`)
  return number < millisLeast ? number * 1_000 : number
}

function writtenOf(given: unknown, member: string): number {
  const text = typeof given === 'string' ? given : ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return unixOf(Number(text), member)
  const at = isoOf(text)
  if (at === null) throw new RowFault(`${member} is not a time`)
  return at
}

/** Null: the text is no time, or one that no calendar has. */
function isoOf(text: string): number | null {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] =
    timeForm.exec(text) ?? []
  if (year === undefined) return null
  const offset = offsetOf(zone)
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59 || offset === null) return null
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // 30 February would be 2 March.
  if (new Date(date).toISOString().slice(0, 10) !== `${year}-${month}-${day}`) return null
  const seconds = Number(hour) * 3_600 + (Number(minute) - offset) * 60 + Number(second)
  return date + seconds * 1_000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
}

/** Minutes east of UTC. Null: no zone is that far. */
function offsetOf(zone: string | undefined): number | null {
  if (zone === undefined || /z/i.test(zone)) return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))]
  if (hours > 15 || minutes > 59) return null
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
