/**
 * Logs, metrics and traces. `metrics.ts` is what code reports; `prometheus.ts` with `prometheus-parts.ts` keeps it and
 * `metrics-server.ts` serves it. `figures.ts` are read at each scrape (`platform-figures.ts`: those of the platform),
 * `readings.ts` from the database. `log.ts` writes lines to `log-output.ts`. `tracing.ts` has spans, `traceparent.ts`
 * reads those of callers.
 */

import type { LaneObserver } from '../db/lanes/lane.ts'
import type { DbObserver } from '../db/pool/pool.ts'
import type { UpkeepObserver } from '../db/upkeep.ts'
import type { CountMail } from '../mail/deliver.ts'

/** A figure at one moment. Its labels have few values. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * What became of a request: `failed` is a 500, `turned_away` a 503 for lack of space, `unavailable` any other 503, such as of the
 * store. `gone` means that the client hung up, which says nothing of the service.
 */
export const requestOutcomes = ['answered', 'failed', 'turned_away', 'unavailable', 'gone'] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

/** Everything that the service counts, in Prometheus' base units. A label never contains an id or a raw path. */
export interface Metrics extends DbObserver, LaneObserver, UpkeepObserver {
  requestEnded(method: string, route: string, status: number, seconds: number): void
  /** Counts every request, held or not, from 0 for each outcome: a rule sees the first one as an increase. */
  requestCounted(outcome: RequestOutcome): void
  /** A held poll was answered. Its duration is the client's choice, and says nothing of the service. */
  heldPollEnded(): void
  /** A connection was closed at once, for lack of space. */
  connectionRefused(): void
  /** Counts the verdicts of one kind, from 0 for each of these. */
  verdictCounter(kind: string, verdicts: readonly string[]): (verdict: string) => void
  /** A workspace was created. */
  workspaceCreated(): void
  /** A node acknowledged a change, this long after the change. */
  changeAcknowledged(seconds: number): void
  /** A call of Redis failed, and with it all checks that it carried. */
  redisFailed(): void
  /** A password was hashed, or compared with a real or a stand-in hash. */
  passwordHashed(): void
  /** A security event was dropped, for lack of space while the database is away. */
  securityEventDropped(): void
  /** Counts the outcomes of mail, from 0 for each of these kinds. */
  mailCounter(kinds: readonly string[]): CountMail
  /** Reads a figure at every scrape; without a sample, none is shown. @param labels their names, of a figure that may have no sample. */
  watch(name: string, help: string, read: () => readonly Sample[], labels?: readonly string[]): void
  /** Reads a count at every scrape. */
  watchTotal(name: string, help: string, read: () => number): void
  /** Runs before a scrape reads its figures. It must not throw. */
  beforeScrape(run: () => Promise<void>): void
  /** Prometheus text format 0.0.4. */
  text(): Promise<string>
}

/** Without a metrics port nothing is counted, because nothing could read it. */
export const uncounted: Metrics = {
  requestEnded() {},
  requestCounted() {},
  heldPollEnded() {},
  connectionRefused() {},
  verdictCounter: () => () => {},
  workspaceCreated() {},
  changeAcknowledged() {},
  laneOpened() {},
  batchSent() {},
  batchEnded() {},
  laneReconnected() {},
  upkeepEnded() {},
  deadlockRetried() {},
  databaseRefused() {},
  redisFailed() {},
  passwordHashed() {},
  securityEventDropped() {},
  mailCounter: () => () => {},
  watch() {},
  watchTotal() {},
  beforeScrape() {},
  text: async () => '',
}
