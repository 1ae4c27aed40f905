import { percentile } from '../../bench/harness/statistics.ts'
import { type Probed, type ProbeName, probeNames } from './neighbour-probe.ts'

/** One attack: turns without and with it, in the order A B A B. */
export interface Turns {
  readonly attack: string
  readonly quiet: readonly Probed[]
  readonly loud: readonly Probed[]
  /** How far the process has grown above what it had in the quiet turns, in bytes. */
  readonly grownBytes: number
}

/** How much slower a request may be than in the quiet turns of the same run, and how much the process may grow. */
export const slowerMax = 3
export const grownBytesMax = 256 * 2 ** 20
/** A quiet turn whose median is so many times that of another one of the same attack says that the machine was not quiet. */
export const quietSpreadMax = 1.5

export interface Line {
  readonly name: ProbeName
  readonly quiet: { readonly p50: number; readonly p99: number }
  readonly loud: { readonly p50: number; readonly p99: number }
  /** How many times slower, by whichever of the two is worse. */
  readonly slower: number
}

export interface Judged {
  readonly lines: readonly Line[]
  readonly broken: readonly string[]
  /** Why the machine was too noisy to judge by. Memory is judged all the same. */
  readonly doubt: string | null
}

/**
 * Judges an attack by the turns beside it. Times are judged only where the quiet turns are alike, and refusals where there
 * are none in these; memory on any machine.
 */
export function judge({ attack, quiet, loud, grownBytes }: Turns): Judged {
  const lines = probeNames.map(name => lineOf(name, quiet, loud))
  const doubt = doubtOf(quiet)
  const refused = [...new Set(loud.flatMap(turn => turn.refused))]
  const slow = lines.filter(({ slower }) => !(slower <= slowerMax))
  return {
    lines,
    doubt,
    broken: [
      ...(wasRefused(quiet) ? [] : refused).map(what => `${attack}: ${what}`),
      ...(doubt === null ? slow : []).map(
        ({ name, slower, quiet: before, loud: after }) =>
          `${attack}: ${name} is ${slower.toFixed(1)} times slower: p50 ${ms(before.p50)} → ${ms(after.p50)}, p99 ${ms(before.p99)} → ${ms(after.p99)}`,
      ),
      ...(grownBytes > grownBytesMax ? [`${attack}: the process has grown by ${mib(grownBytes)} MiB`] : []),
    ],
  }
}

function lineOf(name: ProbeName, quiet: readonly Probed[], loud: readonly Probed[]): Line {
  const of = (turns: readonly Probed[]) => {
    const all = turns.flatMap(turn => turn.ms[name])
    return { p50: percentile(all, 0.5), p99: percentile(all, 0.99) }
  }
  const [before, after] = [of(quiet), of(loud)]
  return {
    name,
    quiet: before,
    loud: after,
    slower: Math.max(after.p50 / before.p50, after.p99 / before.p99),
  }
}

const wasRefused = (turns: readonly Probed[]) => turns.some(turn => turn.refused.length > 0)

function doubtOf(quiet: readonly Probed[]): string | null {
  if (wasRefused(quiet)) return 'the neighbour was refused beside nobody'
  for (const name of probeNames) {
    const medians = quiet.map(turn => percentile(turn.ms[name], 0.5))
    const spread = Math.max(...medians) / Math.min(...medians)
    if (!(spread <= quietSpreadMax))
      return `quiet medians of ${name} lie ${spread.toFixed(1)} times apart, more than ${quietSpreadMax}`
  }
  return null
}

export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
export const mib = (bytes: number) => Math.round(bytes / 2 ** 20)
