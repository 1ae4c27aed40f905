import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client'
import type { LaneObserver } from './db/lane.ts'
import { type RefusalObserver, refusalReasons } from './db/refusals.ts'
import type { UpkeepObserver } from './db/upkeep.ts'

/** From a batch in memory to the deadline of a request, in seconds. */
const laneBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** What lanes do, from 0 for each lane as soon as it is open. */
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

/** What the database refuses, from 0 for each reason, so that the first refusal is an increase. */
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

/** Rounds of upkeep in this process; another process may have the next one. */
export function upkeepMetrics(register: Registry): Omit<UpkeepObserver, keyof RefusalObserver> {
  const last = new Gauge({
    name: 'keyrail_upkeep_last_success_timestamp_seconds',
    help: 'When this process last ended a round of upkeep; 0: never.',
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
