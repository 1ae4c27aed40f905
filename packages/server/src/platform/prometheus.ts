import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { outcomes } from './mail/deliver.ts'
import type { Metrics } from './metrics.ts'

/** Buckets of the OpenTelemetry HTTP conventions, in seconds. */
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** Metrics that are counted. */
export function createMetrics(build: { version: string; node: string }): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer, by route template.',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [register],
  })
  const batch = new Histogram({
    name: 'keyrail_lane_batch_items',
    help: 'Items that one statement of a lane carried.',
    labelNames: ['lane'],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    registers: [register],
  })
  const deadlocks = new Counter({
    name: 'keyrail_deadlocks_retried_total',
    help: 'Transactions that Postgres ended as a deadlock and that were run again.',
    registers: [register],
  })
  const redisFailures = new Counter({
    name: 'keyrail_redis_failures_total',
    help: 'Calls of Redis that failed, each with all the rate-limit checks that rode it.',
    registers: [register],
  })
  const passwordHashes = new Counter({
    name: 'keyrail_password_hashes_total',
    help: 'Calls of the password hasher, each some 10 ms of a core.',
    registers: [register],
  })
  const securityEventsDropped = new Counter({
    name: 'keyrail_security_events_dropped_total',
    help: 'Security events that found no room while the store was away.',
    registers: [register],
  })
  new Gauge({
    name: 'keyrail_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    registers: [register],
  }).set({ version: build.version, node: build.node }, 1)

  // Labels are put in order and hashed once for each of the few there are, not for each request.
  const durations = new Map<string, { observe(seconds: number): void }>()
  const durationOf = (method: string, route: string, status: number) => {
    const name = `${method} ${route} ${status}`
    const known = durations.get(name) ?? duration.labels({ method, route, status: String(status) })
    durations.set(name, known)
    return known
  }

  return {
    requestEnded: (method, route, status, seconds) => durationOf(method, route, status).observe(seconds),
    batchSent: (lane, items) => batch.observe({ lane }, items),
    deadlockRetried: () => deadlocks.inc(),
    redisFailed: () => redisFailures.inc(),
    passwordHashed: () => passwordHashes.inc(),
    securityEventDropped: () => securityEventsDropped.inc(),
    mailCounter(kinds) {
      const mail = new Counter({
        name: 'keyrail_mail_total',
        help: 'Attempts to send mail, by what became of them.',
        labelNames: ['kind', 'outcome'],
        registers: [register],
      })
      for (const kind of kinds) for (const outcome of outcomes) mail.inc({ kind, outcome }, 0)
      return (kind, outcome) => mail.inc({ kind, outcome })
    },
    watch(name, help, read) {
      new Gauge({
        name,
        help,
        labelNames: Object.keys(read()[0]?.labels ?? {}),
        registers: [register],
        collect() {
          for (const { labels, value } of read()) this.set(labels ?? {}, value)
        },
      })
    },
    text: () => register.metrics(),
  }
}
