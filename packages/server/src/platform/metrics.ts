import type { LaneObserver } from './db/lane.ts'
import type { DbObserver } from './db/pool.ts'
import type { CountMail } from './mail/deliver.ts'

/** What the service counts of itself, in Prometheus' base units. No label ever carries an id or a raw path. */
export interface Metrics extends DbObserver, LaneObserver {
  requestEnded(method: string, route: string, status: number, seconds: number): void
  /** A call of Redis has failed, and with it all that rode it. */
  redisFailed(): void
  /** A password was hashed, or compared with a hash, somebody's or nobody's. */
  passwordHashed(): void
  /** A security event was given up, for lack of room while the store is away. */
  securityEventDropped(): void
  /** Counts what became of mail, from 0 for each of these kinds. */
  mailCounter(kinds: readonly string[]): CountMail
  /** Asks for a figure at every scrape. */
  watch(name: string, help: string, read: () => { labels?: Record<string, string>; value: number }[]): void
  /** Prometheus text format 0.0.4. */
  text(): Promise<string>
}

/** Where nobody can read them: without a port nothing is counted. */
export const uncounted: Metrics = {
  requestEnded() {},
  batchSent() {},
  deadlockRetried() {},
  redisFailed() {},
  passwordHashed() {},
  securityEventDropped() {},
  mailCounter: () => () => {},
  watch() {},
  text: async () => '',
}
