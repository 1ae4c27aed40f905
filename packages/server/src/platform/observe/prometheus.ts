import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { outcomes } from '../mail/deliver.ts'
import type { Gauged, Metrics } from './metrics.ts'
import { laneMetrics, refusalMetrics, requestMetrics, upkeepMetrics } from './prometheus-parts.ts'

/** From a held poll that is answered at once to a node that polls every minute, in seconds. */
const propagationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 300]

type Scraped = 'watch' | 'watchTotal' | 'beforeScrape' | 'text' | 'figures'
type Parts = ReturnType<typeof requestMetrics> &
  ReturnType<typeof laneMetrics> &
  ReturnType<typeof refusalMetrics> &
  ReturnType<typeof upkeepMetrics>

/** Metrics that are counted. */
export function createMetrics(build: { version: string; node: string }): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  gatherOfNode(register)
  const events = eventMetrics(register)
  new Gauge({
    name: 'keyrail_build_info',
    help: 'Always 1; the labels have the versions.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers: [register],
  }).set({ version: build.version, node: build.node }, 1)
  return {
    ...events,
    ...requestMetrics(register),
    ...laneMetrics(register),
    ...refusalMetrics(register),
    ...upkeepMetrics(register),
    ...scrapedMetrics(register),
  }
}

/** Events, which are counted as they happen. */
function eventMetrics(register: Registry): Omit<Metrics, keyof Parts | Scraped> {
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers: [register] })
  const heldPolls = counter('keyrail_held_polls_ended_total', 'Held polls that were answered.')
  const refusedConnections = counter(
    'keyrail_connections_refused_total',
    'Connections closed at once, because SERVICE_MAX_CONNECTIONS were open.',
  )
  const deadlocks = counter(
    'keyrail_deadlocks_retried_total',
    'Transactions that ran again after a deadlock or a serialization failure.',
  )
  const redisFailures = counter(
    'keyrail_redis_failures_total',
    'Failed calls of Redis, each with all the rate-limit checks in it.',
  )
  const passwordHashes = counter(
    'keyrail_password_hashes_total',
    'Calls of the password hasher, each about 10 ms of a core.',
  )
  const securityEventsDropped = counter(
    'keyrail_security_events_dropped_total',
    'Security events dropped for lack of space while the database was away.',
  )
  const replaced = counter(
    'keyrail_processes_replaced_total',
    'Processes that served requests, ended by themselves and were replaced.',
  )
  const workspaces = counter('keyrail_workspaces_created_total', 'Workspaces that were created.')
  const verdicts = counter('keyrail_verdicts_total', 'Verdicts that were returned.', ['kind', 'verdict'])
  const propagation = new Histogram({
    name: 'keyrail_policy_propagation_seconds',
    help: 'Time from a change of a policy until a node acknowledged it.',
    buckets: propagationBuckets,
    registers: [register],
  })

  return {
    heldPollEnded: () => heldPolls.inc(),
    connectionRefused: () => refusedConnections.inc(),
    verdictCounter(kind, possible) {
      const counts = new Map(possible.map(verdict => [verdict, verdicts.labels({ kind, verdict })]))
      for (const count of counts.values()) count.inc(0)
      return verdict => counts.get(verdict)?.inc()
    },
    workspaceCreated: () => workspaces.inc(),
    changeAcknowledged: seconds => propagation.observe(seconds),
    deadlockRetried: () => deadlocks.inc(),
    redisFailed: () => redisFailures.inc(),
    passwordHashed: () => passwordHashes.inc(),
    securityEventDropped: () => securityEventsDropped.inc(),
    processReplaced: () => replaced.inc(),
    mailCounter(kinds) {
      const mail = counter('keyrail_mail_total', 'Attempts to send mail, by outcome.', ['kind', 'outcome'])
      for (const kind of kinds) for (const outcome of outcomes) mail.inc({ kind, outcome }, 0)
      return (kind, outcome) => mail.inc({ kind, outcome })
    },
  }
}

/** Figures that are read at a scrape, and the scrape itself. */
function scrapedMetrics(register: Registry): Pick<Metrics, Scraped> {
  const refreshes: { run: () => Promise<void>; gathered: 'first' | undefined }[] = []
  const refresh = async (isFirst: boolean) => {
    const due = refreshes.filter(({ gathered }) => isFirst || gathered === undefined)
    await Promise.all(due.map(({ run }) => run()))
  }
  return {
    watch: figure => watchGauge(register, figure),
    watchTotal(name, help, read) {
      new Counter({
        name,
        help,
        registers: [register],
        collect() {
          this.reset()
          this.inc(read())
        },
      })
    },
    beforeScrape: (run, gathered) => void refreshes.push({ run, gathered }),
    async text() {
      await refresh(true)
      return await register.metrics()
    },
    async figures(isFirst) {
      await refresh(isFirst)
      const all = await register.getMetricsAsJSON()
      return isFirst ? all : all.filter(({ aggregator }) => aggregator !== 'first')
    },
  }
}

function watchGauge(register: Registry, { name, help, gathered = 'sum', labels, read }: Gauged): void {
  const names = [...(labels ?? Object.keys(read()[0]?.labels ?? {}))]
  new Gauge({
    name,
    help,
    labelNames: names,
    aggregator: gathered,
    registers: [register],
    collect() {
      this.reset()
      // A reset figure without labels would show 0.
      if (names.length === 0) this.remove()
      for (const { labels, value } of read()) this.set(labels ?? {}, value)
    },
  })
}

/**
 * Of several processes, the slowest event loop counts, and the oldest start. The library averages the first, and leaves out the
 * second.
 */
function gatherOfNode(register: Registry): void {
  for (const metric of register.getMetricsAsArray()) {
    if (metric.name === 'process_start_time_seconds') metric.aggregator = 'min'
    else if (metric.aggregator === 'average') metric.aggregator = 'max'
  }
}
