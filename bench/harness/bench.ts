/** What a bench file exports. Each exports one `bench: Bench`; see `bench/g0-same-twice.ts`. */

/** One figure and its goal. A goal is met when the bound of the 95 % interval meets it, not when the median does. */
export type Goal = {
  /** Name and unit of the measured figure: `requests/s`, `p99 ms`, `peak MiB`. */
  metric: string
  /**
   * How a round of the subject is compared with the same round of the other arm: `ratio` divides by it (the default),
   * `difference` subtracts it, `value` takes the subject's figure alone.
   */
  compare?: 'ratio' | 'difference' | 'value'
  direction: 'at least' | 'at most'
  /** What must hold, or the bench exits with 1. Null for a goal with a moonshot alone. */
  floor: number | null
  /** What we want. Null if nothing beyond the floor. */
  moonshot: number | null
  /** Name of the arm that the subject is compared with: by default the control. */
  against?: string
}

/** One turn of one arm. Round 0 is the warm-up, whose figures are discarded. */
export type Turn = { round: number; seconds: number }

/** The result of a turn. A bare number stands for the metric of the first goal. */
export type Measured =
  | number
  | {
      values: Readonly<Record<string, number>>
      /**
       * The computed result (a checksum, counts of verdicts). Within a round, all arms that return one must return a
       * deeply equal one, or the run fails: a fast wrong answer is worthless.
       */
      answer?: unknown
      /** Why this turn may mislead, in constant words. In more than a tenth of the turns, it makes a run unstable. */
      doubt?: string | undefined
    }

export type Arm = {
  name: string
  /** One subject (ours), at least one control, and any number of peers, shown but not judged. */
  role: 'subject' | 'control' | 'peer'
  measure(turn: Turn): Promise<Measured>
}

export type Resource = { close(): Promise<void> | void }

/** What a bench can use while it prepares its arms. */
export type BenchRun = {
  quick: boolean
  /** Returns the resource, and closes it when the run ends in any way; the last one first. */
  use<T extends Resource>(resource: T | Promise<T>): Promise<T>
  /** A line printed under the table. */
  note(text: string): void
}

export type Bench = {
  /** `G10` */
  name: string
  title: string
  /** The first goal is the headline: the control's spread is judged by its metric. */
  goal: Goal | readonly [Goal, ...Goal[]]
  /** Starts what the arms need, through `run.use`, and checks once that each arm answers correctly. */
  arms(run: BenchRun): Promise<readonly Arm[]>
}

/** The bench itself is wrong, or an arm answered wrongly. Then no figures are printed. */
export class BenchFault extends Error {}

export function goalsOf({ goal }: Bench): readonly [Goal, ...Goal[]] {
  return 'metric' in goal ? [goal] : goal
}

/** The arms by their part, after checking that the bench can be judged at all. */
export type Cast = { subject: Arm; control: Arm; arms: readonly Arm[] }

/** @throws BenchFault when the control is missing, or a name or goal does not fit the arms */
export function castArms(bench: Bench, arms: readonly Arm[]): Cast {
  const [subject, ...moreSubjects] = arms.filter(arm => arm.role === 'subject')
  const [control] = arms.filter(arm => arm.role === 'control')
  if (!control) throw new BenchFault(`${bench.name} has no control, so its figures would mean nothing`)
  if (!subject || moreSubjects.length > 0) throw new BenchFault(`${bench.name} needs exactly one subject`)
  const names = new Set(arms.map(arm => arm.name))
  if (names.size < arms.length) throw new BenchFault(`${bench.name} has two arms with one name`)
  for (const { metric, against, direction, floor, moonshot } of goalsOf(bench)) {
    if (against !== undefined && (against === subject.name || !names.has(against))) {
      throw new BenchFault(`${bench.name}: the goal for ${metric} does not name another arm "${against}"`)
    }
    if (floor === null && moonshot === null) {
      throw new BenchFault(`${bench.name}: the goal for ${metric} has no bound`)
    }
    if (floor !== null && moonshot !== null && meets(direction, floor, moonshot) && floor !== moonshot) {
      throw new BenchFault(`${bench.name}: the floor for ${metric} is stricter than its moonshot`)
    }
  }
  return { subject, control, arms }
}

/** Whether a value meets a bound. A missing bound is always met. */
export function meets(direction: Goal['direction'], value: number, bound: number | null): boolean {
  if (bound === null) return true
  return direction === 'at least' ? value >= bound : value <= bound
}
