/**
 * Logs, metrics and traces. `metrics.ts` is what code reports; `prometheus.ts` with `prometheus-parts.ts` keeps it, `gather.ts`
 * adds up that of several processes and `metrics-server.ts` serves it. `figures.ts` are read at each scrape (`platform-figures.ts`: those of the platform),
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
 * What the figure of several processes that share a port is, made of theirs: `first` for a figure that is the same in each, so
 * that one of them reads it.
 */
export type Gathering = 'sum' | 'max' | 'min' | 'first'

/** The figures of one process, which `gather.ts` adds to those of others. They pass between processes as they are. */
export type ProcessFigures = readonly MetricFigures[]
interface MetricFigures {
  readonly name: string
  readonly type: string
  readonly aggregator: string
  readonly values: readonly object[]
}

/**
 * The outcome of a request: `failed` is a 500, `turned_away` a 503 for lack of space, `unavailable` any other 503, for example
 * if the store is away. `gone` means that the client hung up, which is no fault of the service.
 */
export const requestOutcomes = ['answered', 'failed', 'turned_away', 'unavailable', 'gone'] as const
export type RequestOutcome = (typeof requestOutcomes)[number]

/** Everything that the service counts, in Prometheus' base units. A label never contains an id or a raw path. */
export interface Metrics extends DbObserver, LaneObserver, UpkeepObserver {
  requestEnded(method: string, route: string, status: number, seconds: number): void
  /** Counts every request, held or not. Each outcome is shown from 0 on, so that a rule sees the first one as an increase. */
  requestCounted(outcome: RequestOutcome): void
  /** A held poll was answered. The client chooses its duration, which is no measure of the service. */
  heldPollEnded(): void
  /** A connection was closed at once, for lack of space. */
  connectionRefused(): void
  /** Counts the verdicts of one kind, each of these from 0 on. */
  verdictCounter(kind: string, verdicts: readonly string[]): (verdict: string) => void
  /** A workspace was created. */
  workspaceCreated(): void
  /** A node acknowledged a change, this long after the change. */
  changeAcknowledged(seconds: number): void
  /** A call of Redis failed, and with it all checks that the call carried. */
  redisFailed(): void
  /** A password was hashed, or compared with a real or a stand-in hash. */
  passwordHashed(): void
  /** A security event was dropped, for lack of space while the database is away. */
  securityEventDropped(): void
  /** Counts the outcomes of mail, for each of these kinds from 0 on. */
  mailCounter(kinds: readonly string[]): CountMail
  /** A process that listened has ended by itself, and another takes its place. */
  processReplaced(): void
  /** Reads a figure at every scrape; without a sample, no figure is shown. */
  watch(figure: Gauged): void
  /** Reads a count at every scrape. */
  watchTotal(name: string, help: string, read: () => number): void
  /**
   * Runs before a scrape reads figures. It must not throw.
   * @param gathered `first`: only where figures of this kind are read.
   */
  beforeScrape(run: () => Promise<void>, gathered?: 'first'): void
  /** Prometheus text format 0.0.4. */
  text(): Promise<string>
  /** The same for a process that gathers those of several. @param isFirst whether those that are the same in each are read here. */
  figures(isFirst: boolean): Promise<ProcessFigures>
}

/** A figure that goes up and down. */
export interface Gauged {
  readonly name: string
  readonly help: string
  /** Unset: the sum. */
  readonly gathered?: Gathering | undefined
  /** The names of the labels, if the figure may have no sample. */
  readonly labels?: readonly string[]
  readonly read: () => readonly Sample[]
}

/** Without a metrics port nothing is counted, because nothing could read the counts. */
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
  processReplaced() {},
  mailCounter: () => () => {},
  watch() {},
  watchTotal() {},
  beforeScrape() {},
  text: async () => '',
  figures: async () => [],
}
