import { readFileSync } from 'node:fs'

/** A test that fails by chance, until someone repairs it: it runs and is reported, and is not judged. */
export interface Quarantined {
  readonly file: string
  /** The name of the test. */
  readonly test: string
  /** The day of the entry, as 2026-01-31. */
  readonly since: string
  /** What makes it fail, as far as it is known. */
  readonly cause: string
}

const entriesMax = 5
const daysMax = 7
const msPerDay = 86_400_000

export const readQuarantine = (): Quarantined[] =>
  JSON.parse(readFileSync(new URL('quarantine.json', import.meta.url), 'utf8'))

/**
 * What is wrong with the list itself: too long, or an entry that is incomplete or too old.
 *
 * @param nowMs milliseconds since 1970
 */
export function faultsOfQuarantine(entries: readonly Quarantined[], nowMs: number): string[] {
  const many = entries.length > entriesMax ? [`${entries.length} entries, of at most ${entriesMax}`] : []
  return [...many, ...entries.flatMap(entry => faultOfEntry(entry, nowMs))]
}

function faultOfEntry({ file, test, since, cause }: Quarantined, nowMs: number): string[] {
  const days = (nowMs - Date.parse(since)) / msPerDay
  if (!file || !test || !cause || Number.isNaN(days))
    return [`an entry lacks file, test, since or cause: ${file}`]
  return days > daysMax ? [`"${test}" in ${file} has been there since ${since}, over ${daysMax} days`] : []
}
