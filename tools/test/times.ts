import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Processor seconds of each test file when all of them last passed: a committed file, from which a run takes its order. */
const path = fileURLToPath(new URL('times.json', import.meta.url))
/** What a file is taken for that no run has measured. Seconds. */
const unknownSeconds = 10

export type Times = Readonly<Record<string, number>>

export const readTimes = (): Times => JSON.parse(readFileSync(path, 'utf8'))

/** What a file takes, as far as it is known. */
export const secondsOf = (file: string, times: Times): number => times[file] ?? unknownSeconds

export function writeTimes(measured: ReadonlyMap<string, number>): void {
  const rounded = [...measured].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const times = Object.fromEntries(rounded.map(([file, seconds]) => [file, Math.round(seconds * 10) / 10]))
  writeFileSync(path, `${JSON.stringify(times, null, 2)}\n`)
}

/**
 * The dearest first, so that none of them is what a run waits for in the end. The seed moves each file a little: a test
 * that depends on what ran before it does not always meet the same.
 */
export function dearestFirst(files: readonly string[], times: Times, seed: number): string[] {
  const random = numbersFrom(seed)
  const rank = new Map(files.map(file => [file, secondsOf(file, times) * (0.7 + 0.6 * random())]))
  return files.toSorted((a, b) => (rank.get(b) ?? 0) - (rank.get(a) ?? 0))
}

/** Mulberry32: numbers from 0 to 1 that a seed repeats. */
function numbersFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
