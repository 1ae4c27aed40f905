import type { Gathering, Metrics, Sample } from './metrics.ts'

/** A figure that each scrape reads from the memory of this process. */
export interface Figure {
  readonly name: string
  readonly help: string
  /** Of several processes; unset: the sum. */
  readonly gathered?: Gathering
  /** Called before each scrape reads the figures. It must not throw. */
  readonly before?: () => Promise<void>
  /** Returns samples, or a number: a count since the start. */
  readonly read: () => readonly Sample[] | number
}

/** Figures with the same name and help are shown as one figure, with the samples of all. */
export function watchFigures(
  metrics: Pick<Metrics, 'watch' | 'watchTotal' | 'beforeScrape'>,
  figures: readonly Figure[],
): void {
  for (const [name, same] of Map.groupBy(figures, figure => figure.name)) {
    const [first] = same
    if (first === undefined) continue
    const { help, gathered, read: readFirst } = first
    for (const { before } of same) if (before !== undefined) metrics.beforeScrape(before)
    if (typeof readFirst() === 'number') metrics.watchTotal(name, help, readFirst as () => number)
    else {
      const read = () => same.flatMap(one => one.read() as readonly Sample[])
      metrics.watch({ name, help, gathered, read })
    }
  }
}

/** How near the fullest workspace is to a limit. */
export const nearestToLimit = (limit: string, nearest: () => number): Figure => ({
  name: 'keyrail_workspace_limit_ratio',
  help: 'How near any workspace is to a limit; 1 is at the limit.',
  gathered: 'max',
  read: () => [{ labels: { limit }, value: nearest() }],
})
