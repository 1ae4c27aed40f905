import { readFileSync } from 'node:fs'
import type { PromisedTest } from '../promised-tests.ts'

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

/** These hold what Keyrail promises: they are repaired at once. */
const guards = /^drills\/|\/races\/|invariant/

/**
 * What is wrong with the list itself: too long, or an entry that is incomplete, too old or of a test that must always count.
 *
 * @param promised the tests that a page names as proof
 * @param nowMs milliseconds since 1970
 */
export function faultsOfQuarantine(
  entries: readonly Quarantined[],
  promised: readonly PromisedTest[],
  nowMs: number,
): string[] {
  const many = entries.length > entriesMax ? [`${entries.length} entries, of at most ${entriesMax}`] : []
  return [...many, ...entries.flatMap(entry => faultOfEntry(entry, promised, nowMs))]
}

function faultOfEntry(entry: Quarantined, promised: readonly PromisedTest[], nowMs: number): string[] {
  const { file, test, since, cause } = entry
  const days = (nowMs - Date.parse(since)) / msPerDay
  if (!file || !test || !cause || Number.isNaN(days))
    return [`an entry lacks file, test, since or cause: ${file}`]
  if (guards.test(file) || promised.some(one => one.file === file && test.includes(one.name)))
    return [`"${test}" in ${file} guards a promise, and must always count`]
  if (days < 0) return [`"${test}" in ${file} is there since ${since}, which is yet to come`]
  return days > daysMax ? [`"${test}" in ${file} has been there since ${since}, over ${daysMax} days`] : []
}
