export interface Job {
  readonly file: string
  /** Slots that it takes. */
  readonly weight: number
}

export interface ScheduleOptions<Result> {
  readonly slots: number
  readonly run: (file: string) => Promise<Result>
  /** Says, before each job, whether it may still begin. */
  readonly mayBegin: () => boolean
}

/**
 * Runs jobs in their order, as many at once as the slots take. A job that does not fit waits for its place; none overtakes
 * it, so that no heavy job waits for ever.
 *
 * @returns the results in the order of their ends, and the files that were not begun
 */
export async function runJobs<Result>(
  jobs: readonly Job[],
  { slots, run, mayBegin }: ScheduleOptions<Result>,
): Promise<{ results: Result[]; notBegun: string[] }> {
  const results: Result[] = []
  const waiting = [...jobs]
  const running = new Set<Promise<void>>()
  let taken = 0
  while (waiting.length > 0 && mayBegin()) {
    const job = waiting[0]
    if (job === undefined) break
    if (taken > 0 && taken + job.weight > slots) {
      await Promise.race(running)
      continue
    }
    waiting.shift()
    taken += job.weight
    const work = run(job.file).then(result => {
      results.push(result)
      taken -= job.weight
      running.delete(work)
    })
    running.add(work)
  }
  await Promise.all(running)
  return { results, notBegun: waiting.map(({ file }) => file) }
}
