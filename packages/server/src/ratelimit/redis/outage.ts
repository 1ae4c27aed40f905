import type { Logger } from '../../platform/observe/log.ts'

/** Logs one line when a server fails and one when it answers again, not one for each refused check. */
export interface Outages {
  failed(place: string, error: unknown): void
  answered(place: string): void
  /** The server is no longer used. */
  forget(place: string): void
}

/** @param reconnected is called for each server that answers again. */
export function watchOutages(log: Logger, reconnected: () => void = () => {}): Outages {
  const out = new Set<string>()
  return {
    failed(place, error) {
      if (out.has(place)) return
      out.add(place)
      log.error(
        { redis: place, err: error },
        'Redis does not answer rate-limit checks; they are answered 503',
      )
    },
    answered(place) {
      if (!out.delete(place)) return
      reconnected()
      log.info({ redis: place }, 'Redis answers rate-limit checks again')
    },
    forget: place => void out.delete(place),
  }
}
