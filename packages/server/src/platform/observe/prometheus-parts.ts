import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client'
import type { LaneObserver } from '../db/lanes/lane.ts'
import { type RefusalObserver, refusalReasons } from '../db/refusals.ts'
import type { UpkeepObserver } from '../db/upkeep.ts'
import { type Metrics, type RequestOutcome, requestOutcomes } from './metrics.ts'

/** Buckets of the OpenTelemetry HTTP conventions, in seconds. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** From a batch in memory to the deadline of a request, in seconds. */
const laneBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/**
 * How long requests took, by route, and their outcomes. The outcomes are few, so each begins at 0. A series of the histogram
 * begins with its first request: a rule must not depend on the first request of a route or a status.
 */
export function requestMetrics(register: Registry): Pick<Metrics, 'requestEnded' | 'requestCounted'> {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its response, by route template.',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [register],
  })
  // The histogram is in the first scrape, so that a rule on it always has a figure.
  duration.zero({ method: 'GET', route: '/healthz', status: '200' })
  const requests = new Counter({
    name: 'keyrail_requests_total',
    help: 'Requests that were answered, by outcome.',
    labelNames: ['outcome'],
    registers: [register],
  })
  for (const outcome of requestOutcomes) requests.inc({ outcome }, 0)
  // Labels are sorted and hashed once per combination, not once per request.
  const durations = new Map<string, { observe(seconds: number): void }>()
  const durationOf = (method: string, route: string, status: number) => {
    const name = `${method} ${route} ${status}`
    const known = durations.get(name) ?? duration.labels({ method, route, status: String(status) })
    durations.set(name, known)
    return known
  }
  const counts = Object.fromEntries(
    requestOutcomes.map(outcome => [outcome, requests.labels({ outcome })]),
  ) as Record<RequestOutcome, { inc(): void }>
  return {
    requestEnded: (method, route, status, seconds) => durationOf(method, route, status).observe(seconds),
    requestCounted: outcome => counts[outcome].inc(),
  }
}

/** Metrics of lanes, from 0 for each lane as soon as it is open. */
export function laneMetrics(register: Registry): Omit<LaneObserver, keyof RefusalObserver> {
  const labelNames = ['lane'] as const
  const registers = [register]
  const items = new Histogram({
    name: 'keyrail_lane_batch_items',
    help: 'Items per statement of a lane.',
    labelNames,
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    registers,
  })
  const duration = new Histogram({
    name: 'keyrail_lane_duration_seconds',
    help: 'Time from a batch to its answers, by lane.',
    labelNames,
    buckets: laneBuckets,
    registers,
  })
  const errors = new Counter({
    name: 'keyrail_lane_errors_total',
    help: 'Batches that the store did not answer at the first attempt.',
    labelNames,
    registers,
  })
  const reconnects = new Counter({
    name: 'keyrail_lane_reconnects_total',
    help: 'Connections opened in place of a lost one.',
    labelNames,
    registers,
  })
  return {
    laneOpened(lane) {
      for (const histogram of [items, duration]) histogram.zero({ lane })
      for (const counter of [errors, reconnects]) counter.inc({ lane }, 0)
    },
    batchSent: (lane, sent) => items.observe({ lane }, sent),
    batchEnded(lane, seconds, isFailed) {
      duration.observe({ lane }, seconds)
      if (isFailed) errors.inc({ lane })
    },
    laneReconnected: lane => reconnects.inc({ lane }),
  }
}

/** Refusals of the database, from 0 for each reason, so that the first refusal is an increase. */
export function refusalMetrics(register: Registry): RefusalObserver {
  const refusals = new Counter({
    name: 'keyrail_database_refusals_total',
    help: 'Statements and connections that the database refused, by reason.',
    labelNames: ['reason'],
    registers: [register],
  })
  for (const reason of refusalReasons) refusals.inc({ reason }, 0)
  return { databaseRefused: reason => refusals.inc({ reason }) }
}

/** Rounds of upkeep in this process; another process may have the next round. */
export function upkeepMetrics(register: Registry): Omit<UpkeepObserver, keyof RefusalObserver> {
  const last = new Gauge({
    name: 'keyrail_upkeep_last_success_timestamp_seconds',
    help: 'When this process last ended a round of upkeep; 0: never.',
    aggregator: 'max',
    registers: [register],
  })
  const failures = new Counter({
    name: 'keyrail_upkeep_failures_total',
    help: 'Rounds of upkeep that failed.',
    registers: [register],
  })
  return {
    upkeepEnded(at) {
      if (at === null) failures.inc()
      else last.set(at / 1_000)
    },
  }
}
