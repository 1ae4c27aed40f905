import { parseArgs } from 'node:util'

export type BenchOptions = {
  rounds: number
  /** In seconds, for one turn. */
  seconds: number
  warmUpSeconds: number
  /** Few short rounds; doubts are reported but do not refuse the run. To see that a bench works. */
  quick: boolean
  json: boolean
}

export type CommandLine = {
  /** Whether it asks for the usage alone. */
  help: boolean
  name: string | undefined
  options: BenchOptions
}

export const USAGE = `npm run bench                     lists the benches
npm run bench -- NAME [options]   runs one: g10, or the path of a bench file

  --rounds N     turns of each arm (10; quick: 3)
  --seconds S    length of a turn (10; quick: 1)
  --warm-up S    length of the turn before them that does not count (5; quick: 1)
  --quick        few short rounds; doubts are reported, not refused
  --json         the whole report as JSON

Exit code 0: every floor holds. 1: one is missed, or the bench failed. 2: refused as unstable.`

/** @throws Error with one line to print, when an argument is invalid */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (positionals.length > 1) throw new Error(`one bench at a time, not ${positionals.join(' ')}`)
  const { quick, json, help } = values
  const rounds = positive('--rounds', values.rounds, quick ? 3 : 10)
  if (!Number.isInteger(rounds)) throw new Error('--rounds takes a whole number')
  const seconds = positive('--seconds', values.seconds, quick ? 1 : 10)
  const warmUpSeconds = positive('--warm-up', values['warm-up'], quick ? 1 : 5)
  return { help, name: positionals[0], options: { rounds, seconds, warmUpSeconds, quick, json } }
}

function positive(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (!(value > 0 && Number.isFinite(value))) throw new Error(`${flag} takes a number above 0, not ${text}`)
  return value
}
