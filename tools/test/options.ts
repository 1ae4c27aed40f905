import { parseArgs } from 'node:util'
import type { Ring } from './rings.ts'

export interface TestOptions {
  readonly paths: readonly string[]
  readonly rings: readonly Ring[]
  /** The folder of another Postgres. */
  readonly postgres: string | undefined
  /** Processes that take the processor. */
  readonly busy: number
  /** No file begins after this. Minutes. */
  readonly minutes: number
  /** How often each file runs. */
  readonly repeat: number
  readonly seed: number
  /** Only what differs from the upstream's last commit reaches. */
  readonly changed: boolean
  /** Whether the run measures all files, and keeps their times. */
  readonly writesTimes: boolean
}

const ringsOf: Readonly<Record<string, readonly Ring[]>> = {
  inner: ['inner'],
  e2e: ['e2e'],
  all: ['inner', 'e2e'],
}

/** Reads the command line; a wrong option is a message and the end of the process. */
export function readOptions(args: readonly string[]): TestOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      ring: { type: 'string', default: 'inner' },
      postgres: { type: 'string' },
      busy: { type: 'string', default: '0' },
      minutes: { type: 'string' },
      repeat: { type: 'string', default: '1' },
      seed: { type: 'string' },
      changed: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const rings = ringsOf[values.ring] ?? refuse(`--ring takes inner, e2e or all, not ${values.ring}`)
  return {
    paths: positionals,
    rings,
    postgres: values.postgres,
    busy: wholeNumber('--busy', values.busy, 0),
    minutes:
      values.minutes === undefined ? Number.POSITIVE_INFINITY : wholeNumber('--minutes', values.minutes, 0),
    repeat: wholeNumber('--repeat', values.repeat, 1),
    seed: values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber('--seed', values.seed, 0),
    changed: values.changed,
    writesTimes:
      values.ring === 'all' &&
      positionals.length === 0 &&
      !values.changed &&
      values.minutes === undefined &&
      values.busy === '0',
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least) {
    refuse(`${name} takes a whole number from ${least}, not "${text}"`)
  }
  return value
}

function refuse(message: string): never {
  console.error(message)
  process.exit(1)
}
