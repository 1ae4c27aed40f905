import { readFileSync, writeSync } from 'node:fs'

/**
 * What a process did, in a file. It writes each record before it goes on, so that the file is complete up to the moment
 * at which the process is killed.
 */
export interface Event {
  /** A request that was refused or passed, or a call whose answer arrived or was lost. */
  kind: (typeof kinds)[number]
  scenario: number
  key: number
  /** ms since 1970. */
  askedAt: number
  answeredAt: number
  /** What a call charged. */
  units: number
}

const kinds = ['refused', 'passed', 'call', 'lost'] as const
const NUMBERS = 6

export function record(file: number, { kind, scenario, key, askedAt, answeredAt, units }: Event): void {
  const numbers = [kinds.indexOf(kind), scenario, key, askedAt, answeredAt, units]
  writeSync(file, new Uint8Array(Float64Array.from(numbers).buffer))
}

export function readRecords(path: string): Event[] {
  const bytes = readFileSync(path)
  const events: Event[] = []
  for (let at = 0; at + NUMBERS * 8 <= bytes.length; at += NUMBERS * 8) {
    const number = (i: number) => bytes.readDoubleLE(at + i * 8)
    const kind = kinds[number(0)] ?? 'refused'
    const [scenario, key, askedAt, answeredAt, units] = [
      number(1),
      number(2),
      number(3),
      number(4),
      number(5),
    ]
    events.push({ kind, scenario, key, askedAt, answeredAt, units })
  }
  return events
}
