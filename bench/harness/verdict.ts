import { type Bench, BenchFault, type Cast, type Goal, goalsOf, meets } from './bench.ts'
import type { Doubts, Series } from './rounds.ts'
import { bootstrapInterval, type Interval, median, ROUNDS_MIN, spread } from './statistics.ts'

export type GoalVerdict = 'met' | 'floor met' | 'missed'

/** One line of the table: the subject compared with another arm. Without a goal it is shown, not judged. */
export type Comparison = {
  metric: string
  against: string
  compare: NonNullable<Goal['compare']>
  subjectMedian: number
  /** Null when the other arm does not measure this (only possible for `value`). */
  againstMedian: number | null
  /** Median over the rounds of the result of `compare` in each. */
  median: number
  interval: Interval
  goal: {
    direction: Goal['direction']
    floor: number | null
    moonshot: number | null
    verdict: GoalVerdict
  } | null
}

/** The bound of the interval that is worse for the goal decides. */
export function judge({ direction, floor, moonshot }: Goal, { low, high }: Interval): GoalVerdict {
  const worse = direction === 'at least' ? low : high
  if (!meets(direction, worse, floor)) return 'missed'
  return meets(direction, worse, moonshot) ? 'met' : 'floor met'
}

/** All goals in their order, then every other pair of figures that the arms share, then what the subject alone has. */
export function compareAll(bench: Bench, cast: Cast, series: Series): Comparison[] {
  const own = series[cast.subject.name] ?? {}
  const judged = goalsOf(bench).map(goal => {
    const against = goal.against ?? cast.control.name
    const compare = goal.compare ?? 'ratio'
    const subject = own[goal.metric]
    const other = series[against]?.[goal.metric]
    if (!subject) throw new BenchFault(`${cast.subject.name} does not measure ${goal.metric}`)
    if (!other && compare !== 'value') throw new BenchFault(`${against} does not measure ${goal.metric}`)
    const { direction, floor, moonshot } = goal
    const set = setAgainst(goal.metric, compare, subject, against, other)
    return { ...set, goal: { direction, floor, moonshot, verdict: judge(goal, set.interval) } }
  })
  const shown = cast.arms
    .filter(arm => arm !== cast.subject)
    .flatMap(arm =>
      Object.entries(own).flatMap(([metric, subject]) => {
        const other = series[arm.name]?.[metric]
        const known = judged.some(line => line.metric === metric && line.against === arm.name)
        // A ratio to zero means nothing; without a goal for it, it is left out.
        if (!other || known || other.includes(0)) return []
        return [setAgainst(metric, 'ratio', subject, arm.name, other)]
      }),
    )
  const lone = Object.entries(own).flatMap(([metric, subject]) => {
    if ([...judged, ...shown].some(line => line.metric === metric)) return []
    return [setAgainst(metric, 'value', subject, cast.control.name, undefined)]
  })
  return [...judged, ...shown, ...lone]
}

function setAgainst(
  metric: string,
  compare: Comparison['compare'],
  subject: readonly number[],
  against: string,
  other: readonly number[] | undefined,
): Comparison {
  const perRound = subject.map((value, round) => {
    const base = other?.[round] ?? Number.NaN
    if (compare === 'value') return value
    if (compare === 'difference') return value - base
    if (base === 0) throw new BenchFault(`${against} gave 0 as ${metric}: a ratio to 0 is undefined`)
    return value / base
  })
  return {
    metric,
    against,
    compare,
    subjectMedian: median(subject),
    againstMedian: other ? median(other) : null,
    median: median(perRound),
    interval: bootstrapInterval(perRound),
    goal: null,
  }
}

/** Above these, the machine was too busy to judge. */
export const CONTROL_SPREAD_MAX = 0.15
export const STEAL_MAX = 0.05
/** Doubt about fewer turns than this share cannot move a median, nor the spread, which leaves out as many. */
const DOUBTED_TURNS_MAX = 0.1

/** How far the control's rounds lie apart, by the headline metric. */
export function controlSpread(bench: Bench, cast: Cast, series: Series): number {
  const { metric, against = cast.control.name } = goalsOf(bench)[0]
  const figures = series[against]?.[metric] ?? series[cast.control.name]?.[metric]
  if (!figures) throw new BenchFault(`the control does not measure ${metric}`)
  return spread(figures)
}

/** Reasons not to believe the figures; empty when the run was sound. */
export function reasonsToDoubt(run: {
  rounds: number
  /** Over all arms together. */
  turns: number
  controlSpread: number
  /** Undefined where the machine does not report it. */
  steal: number | undefined
  doubts: Doubts
}): string[] {
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  const reasons = [...run.doubts]
    .filter(([, turns]) => turns > run.turns * DOUBTED_TURNS_MAX)
    .map(([doubt, turns]) => `${doubt} (${turns} of ${run.turns} turns)`)
  if (run.rounds < ROUNDS_MIN) {
    reasons.unshift(`${run.rounds} rounds are too few for a 95 % interval, which needs ${ROUNDS_MIN}`)
  }
  if ((run.steal ?? 0) > STEAL_MAX) {
    reasons.unshift(`steal ${percent(run.steal ?? 0)} is over ${percent(STEAL_MAX)}`)
  }
  if (run.controlSpread > CONTROL_SPREAD_MAX) {
    reasons.unshift(`control spread ${percent(run.controlSpread)} is over ${percent(CONTROL_SPREAD_MAX)}`)
  }
  return reasons
}

export type Verdict = GoalVerdict | 'unstable'

/** The worst of the goals, unless the run is unstable. `quick` reports doubts but goes on. */
export function overall(
  comparisons: readonly Comparison[],
  reasons: readonly string[],
  quick: boolean,
): Verdict {
  if (reasons.length > 0 && !quick) return 'unstable'
  const verdicts = comparisons.flatMap(({ goal }) => (goal ? [goal.verdict] : []))
  return (['missed', 'floor met'] as const).find(verdict => verdicts.includes(verdict)) ?? 'met'
}

/** 0: every floor holds. 1: one is missed. 2: the run was refused. */
export function exitCodeOf(verdict: Verdict): 0 | 1 | 2 {
  if (verdict === 'unstable') return 2
  return verdict === 'missed' ? 1 : 0
}
