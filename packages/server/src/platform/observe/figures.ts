import type { Metrics, Sample } from './metrics.ts'

/** A figure that each scrape reads from the memory of this process. */
export interface Figure {
  readonly name: string
  readonly help: string
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
    const [{ help, read: readFirst } = { help: '', read: () => 0 }] = same
    for (const { before } of same) if (before !== undefined) metrics.beforeScrape(before)
    if (typeof readFirst() === 'number') metrics.watchTotal(name, help, readFirst as () => number)
    else metrics.watch(name, help, () => same.flatMap(({ read }) => read() as readonly Sample[]))
  }
}

/** How near the fullest workspace is to a limit. */
export const nearestToLimit = (limit: string, nearest: () => number): Figure => ({
  name: 'keyrail_workspace_limit_ratio',
  help: 'How near any workspace is to a limit; 1 is at the limit.',
  read: () => [{ labels: { limit }, value: nearest() }],
})
