import { type Align, formatTable } from '../../bench/harness/table.ts'

/** One promise, and the attempt to break it. */
export interface Drill {
  /** The name on the command line: `p1`. */
  name: string
  title: string
  /** The promise, in one sentence. */
  promise: string
  run(options: DrillOptions): Promise<Outcome>
}

export interface DrillOptions {
  /** How often each fault is tried; every drill has its own default. */
  cycles?: number
  seed: number
  /** Aborted to end the drill early; it then reports what it has done. */
  signal: AbortSignal
  /** Receives the progress. */
  say(line: string): void
}

export interface Outcome {
  heading: readonly string[]
  align?: readonly Align[]
  rows: readonly (readonly string[])[]
  /** Counts that the table does not show, a line each. */
  notes: readonly string[]
  /** What contradicts the promise, a line each; empty when it was kept. */
  broken: readonly string[]
  /** What the run can neither confirm nor deny, a line each. */
  undecided?: readonly string[]
}

/** Lines of broken promises that are printed; the first few are as useful as a thousand. */
const mostLines = 40

export function formatOutcome(drill: Drill, { seed }: { seed: number }, outcome: Outcome): string {
  const { heading, rows, align, notes, broken, undecided = [] } = outcome
  return [
    `${drill.name} ${drill.title}`,
    drill.promise,
    '',
    formatTable(heading, rows, align ?? []),
    '',
    ...notes,
    `seed ${seed}`,
    ...broken.slice(0, mostLines).map(line => `BROKEN: ${line}`),
    ...(broken.length > mostLines ? [`and ${broken.length - mostLines} more`] : []),
    ...undecided.map(line => `NOT DECIDED: ${line}`),
    ending(broken.length, undecided.length),
  ].join('\n')
}

function ending(broken: number, undecided: number): string {
  if (broken > 0) return `The promise was broken ${broken} times.`
  if (undecided > 0) return `The promise was not broken; ${undecided} lines are not decided.`
  return 'The promise was kept.'
}
