import { Registry } from '@prometheus-io/client'
import type { ProcessFigures } from './metrics.ts'

/**
 * Adds up the figures of processes that share a port. What a process has counted stays counted after its end, so that a count
 * never falls: a rule of Prometheus would take that for a new start.
 */
export class GatheredFigures {
  readonly #last = new Map<number, ProcessFigures>()
  #ended: ProcessFigures = []

  /** @param id of a process, used for no other one. @param figures as it has told them last. */
  note(id: number, figures: ProcessFigures): void {
    this.#last.set(id, figures)
  }

  /** The process has ended: of what it told, the counts stay. */
  async end(id: number): Promise<void> {
    const counts = (this.#last.get(id) ?? []).filter(({ type }) => type === 'counter' || type === 'histogram')
    this.#last.delete(id)
    if (counts.length > 0) this.#ended = await added([this.#ended, counts]).getMetricsAsJSON()
  }

  /** Prometheus text format 0.0.4. @param own of the process that gathers. */
  async text(own: ProcessFigures): Promise<string> {
    return await added([...this.#last.values(), own, this.#ended]).metrics()
  }
}

const added = (all: readonly ProcessFigures[]): Registry => Registry.aggregate([...all])
