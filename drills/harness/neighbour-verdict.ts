import {
  bootstrapInterval,
  type Interval,
  median,
  percentile,
  ROUNDS_MIN,
} from '../../bench/harness/statistics.ts'
import { type Probed, type ProbeName, probeNames } from './neighbour-probe.ts'

/** A turn with the attack, and the quiet halves before and after it, as one. */
export interface Round {
  readonly quiet: Probed
  readonly loud: Probed
  /** Cores that other work on the machine took in the quiet halves. */
  readonly others: number
}

export interface Turns {
  readonly attack: string
  readonly rounds: readonly Round[]
  /** How far the process has grown above its size in the quiet turns, in bytes. */
  readonly grownBytes: number
}

/** How much slower than in the quiet turns of the same rounds a request may be, and how much the process may grow. */
const slowerMax = 3
export const grownBytesMax = 256 * 2 ** 20
/** Beside more other work than this, in cores, quiet turns are slow too, and hide what an attack does. */
export const othersMax = 0.25

/** One percentile of a kind of request. */
interface Figure {
  /** Medians over the rounds, in ms. */
  readonly quiet: number
  readonly loud: number
  /** The median over the rounds of loud / quiet of the same round, and its 95 % interval. */
  readonly slower: number
  readonly interval: Interval
}

interface Line {
  readonly name: ProbeName
  readonly p50: Figure
  readonly p99: Figure
}

export interface Judged {
  readonly lines: readonly Line[]
  readonly broken: readonly string[]
  readonly undecided: readonly string[]
  /** Rounds that were left out because of other work. */
  readonly disturbed: number
}

/**
 * Judges an attack by the ratios of its rounds: each compares a turn with the quiet halves around it, and one stalled disk
 * is one round of many. A figure breaks the promise if its whole interval lies above the limit, and keeps it if the
 * whole interval lies within. Refusals and memory are judged on any machine.
 */
export function judge({ attack, rounds, grownBytes }: Turns): Judged {
  const calm = rounds.filter(({ others }) => others <= othersMax)
  const disturbed = rounds.length - calm.length
  const isJudged = calm.length >= ROUNDS_MIN
  const lines = probeNames.map(name => lineOf(name, isJudged ? calm : rounds))
  const refused = [...new Set(rounds.flatMap(({ loud }) => loud.refused))]
  const refusedAnyway = [...new Set(rounds.flatMap(({ quiet }) => quiet.refused))]
  const told = (isUnclear: (interval: Interval) => boolean) =>
    lines.flatMap(({ name, p50, p99 }) =>
      Object.entries({ p50, p99 })
        .filter(([, { interval }]) => isUnclear(interval))
        .map(([share, figure]) => `${attack}: ${name} ${share} is ${tell(figure)}`),
    )
  return {
    lines,
    disturbed,
    broken: [
      ...(refusedAnyway.length > 0 ? [] : refused).map(what => `${attack}: ${what}`),
      ...(isJudged ? told(({ low }) => low > slowerMax) : []),
      ...(grownBytes > grownBytesMax ? [`${attack}: the process has grown by ${mib(grownBytes)} MiB`] : []),
    ],
    undecided: [
      ...refusedAnyway.map(what => `${attack}: refused in a quiet turn: ${what}`),
      ...(isJudged
        ? told(({ low, high }) => !(low > slowerMax || high <= slowerMax))
        : [
            `${attack}: ${calm.length} rounds without other work are too few to judge times; ${ROUNDS_MIN} are needed`,
          ]),
    ],
  }
}

function lineOf(name: ProbeName, rounds: readonly Round[]): Line {
  const figureOf = (share: number): Figure => {
    const of = (turns: readonly Probed[]) => turns.map(({ ms }) => percentile(ms[name], share))
    const [quiet, loud] = [of(rounds.map(round => round.quiet)), of(rounds.map(round => round.loud))]
    const ratios = loud.map((value, i) => value / (quiet[i] ?? Number.NaN))
    return {
      quiet: median(quiet),
      loud: median(loud),
      slower: median(ratios),
      interval: bootstrapInterval(ratios),
    }
  }
  return { name, p50: figureOf(0.5), p99: figureOf(0.99) }
}

const tell = ({ quiet, loud, slower, interval }: Figure) =>
  `${times(slower)} times slower (95 % interval ${times(interval.low)} to ${times(interval.high)}): ${ms(quiet)} → ${ms(loud)}`

export const times = (value: number) => value.toFixed(1)
export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
export const mib = (bytes: number) => Math.round(bytes / 2 ** 20)
