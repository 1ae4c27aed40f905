import { readCommandLine, refuse } from '../command-line.ts'
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

const usage = `\
npm test                      the inner ring: no processes and no browser but for six files; minutes
npm test -- --changed         what a change reaches
npm test -- PATH …            the tests of the inner ring below a path, or a file, whatever its ring
npm run test:e2e [-- PATH …]  the end-to-end ring
npm run test:all              both rings, and the service's rooms on Postgres 15

  --postgres FOLDER   on the Postgres whose programs are in that folder (the embedded one)
  --minutes N         begins no file after that time; what changed last comes first
  --repeat N          runs each file so often, and fails if it fails once (1)
  --busy N            beside that many processes that take all the processor time they get (0)
  --seed N            the order of an earlier run
  --ring NAME         inner, e2e or all (inner)

Exit code 0: every test passed, at the latest when its file ran again alone. 1: one failed. 2: a wrong option.`

/** Reads the command line; a wrong option is a message and the end of the process. */
export function readOptions(): TestOptions {
  const { values, positionals } = readCommandLine(
    usage,
    {
      ring: { type: 'string', default: 'inner' },
      postgres: { type: 'string' },
      busy: { type: 'string', default: '0' },
      minutes: { type: 'string' },
      repeat: { type: 'string', default: '1' },
      seed: { type: 'string' },
      changed: { type: 'boolean', default: false },
    },
    { most: Number.POSITIVE_INFINITY },
  )
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
      values.busy === '0' &&
      values.repeat === '1',
  }
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least) {
    refuse(`${name} takes a whole number from ${least}, not "${text}"`)
  }
  return value
}
