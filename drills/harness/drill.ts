import { type Align, formatTable } from '../../bench/harness/table.ts'

/** One promise, and the attempt to break it. */
export interface Drill {
  /** As it is asked for: `p1`. */
  name: string
  title: string
  /** What is promised, in one sentence. */
  promise: string
  run(options: DrillOptions): Promise<Outcome>
}

export interface DrillOptions {
  /** How often each fault is tried; every drill has a default of its own. */
  cycles?: number
  seed: number
  /** Aborted by whoever has seen enough: the drill ends soon and tells of what it has done. */
  signal: AbortSignal
  /** Progress, for the one who waits. */
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
}

/** Lines of broken promises that are printed; the first few tell as much as a thousand. */
const mostLines = 40

export function formatOutcome(drill: Drill, { seed }: { seed: number }, outcome: Outcome): string {
  const { heading, rows, align, notes, broken } = outcome
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
    broken.length === 0 ? 'The promise was kept.' : `The promise was broken ${broken.length} times.`,
  ].join('\n')
}
