import type { Logger } from '../platform/log.ts'

/** Tells once that a machine fails, and once that it answers again: not each of the thousands that were refused. */
export interface Outages {
  failed(place: string, error: unknown): void
  answered(place: string): void
  /** It is no longer asked. */
  forget(place: string): void
}

export function watchOutages(log: Logger): Outages {
  const out = new Set<string>()
  return {
    failed(place, error) {
      if (out.has(place)) return
      out.add(place)
      log.error({ redis: place, err: error }, 'Redis does not take rate-limit checks; they are answered 503')
    },
    answered(place) {
      if (out.delete(place)) log.info({ redis: place }, 'Redis takes rate-limit checks again')
    },
    forget: place => void out.delete(place),
  }
}
