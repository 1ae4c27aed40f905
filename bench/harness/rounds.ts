import { inspect, isDeepStrictEqual } from 'node:util'
import { type Arm, BenchFault, type Measured, type Turn } from './bench.ts'

/** Figures of every arm by arm, metric and round: `series.keyrail['requests/s'][3]`. */
export type Series = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>

/** Doubts that turns raised, with the number of turns that raised each. */
export type Doubts = ReadonlyMap<string, number>

/**
 * A, B, B, A, A, B …: drift (heat, neighbours, caches) affects both arms alike, and each arm follows itself as often as
 * it follows the other. With three arms A B C, C B A.
 */
export function orderOf(arms: readonly Arm[], round: number): readonly Arm[] {
  return round % 2 === 1 ? arms : arms.toReversed()
}

/** Runs each arm once and discards its figures; its answer is still checked. */
export async function warmUp(arms: readonly Arm[], seconds: number): Promise<void> {
  await playRound(arms, { round: 0, seconds })
}

/**
 * Runs the rounds, numbered from 1.
 *
 * @param headline metric that a bare number stands for
 * @param onTurn called before each turn, for a progress line
 * @throws BenchFault when arms disagree or a figure is missing
 */
export async function playRounds(
  arms: readonly Arm[],
  { rounds, seconds, headline }: { rounds: number; seconds: number; headline: string },
  onTurn: (round: number, arm: Arm) => void = () => {},
): Promise<{ series: Series; doubts: Doubts }> {
  const series: Record<string, Record<string, number[]>> = {}
  const doubts = new Map<string, number>()
  for (let round = 1; round <= rounds; round++) {
    const results = await playRound(orderOf(arms, round), { round, seconds }, arm => onTurn(round, arm))
    for (const [arm, measured] of results) {
      const { values, doubt } = typeof measured === 'number' ? { values: { [headline]: measured } } : measured
      series[arm.name] ??= {}
      const own = series[arm.name] ?? {}
      for (const [metric, value] of Object.entries(values)) {
        if (!Number.isFinite(value)) throw new BenchFault(`${arm.name} gave ${value} as ${metric}`)
        own[metric] ??= []
        own[metric].push(value)
      }
      const short = Object.entries(own).find(([, figures]) => figures.length !== round)
      if (short) throw new BenchFault(`${arm.name} does not give ${short[0]} in every round`)
      if (doubt) doubts.set(doubt, (doubts.get(doubt) ?? 0) + 1)
    }
  }
  return { series, doubts }
}

async function playRound(
  arms: readonly Arm[],
  turn: Turn,
  onTurn: (arm: Arm) => void = () => {},
): Promise<ReadonlyMap<Arm, Measured>> {
  const results = new Map<Arm, Measured>()
  for (const arm of arms) {
    onTurn(arm)
    results.set(arm, await arm.measure(turn))
  }
  requireEqualAnswers(results, turn.round)
  return results
}

function requireEqualAnswers(results: ReadonlyMap<Arm, Measured>, round: number): void {
  const answers = [...results].flatMap(([arm, measured]) =>
    typeof measured === 'object' && 'answer' in measured ? [{ arm: arm.name, answer: measured.answer }] : [],
  )
  const [first, ...others] = answers
  const other = others.find(({ answer }) => !isDeepStrictEqual(answer, first?.answer))
  if (!first || !other) return
  const say = ({ arm, answer }: { arm: string; answer: unknown }) =>
    `${arm} answered ${inspect(answer, { breakLength: Number.POSITIVE_INFINITY })}`
  throw new BenchFault(
    `the arms disagree in ${round ? `round ${round}` : 'the warm-up'}: ${say(first)}, ${say(other)}`,
  )
}
