import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import { openLoop } from './harness/load.ts'
import { treeCpuSeconds } from './harness/proc.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { median } from './harness/statistics.ts'
import type { StormCounts, StormPlan } from './service/fleet-storm.ts'
import { replaceFile } from './service/fleet-trigger.ts'
import { fillKeys } from './service/keys-fill.ts'
import { settledKeyReads } from './service/keys-read.ts'
import { type Nginx, startNginx } from './service/nginx.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A whole fleet reads its policy again: when the default limits of a project change, every node must start from a
 * snapshot. The control is nginx serving the same pages to the same fleet.
 */

const KEYS = 10_000
const NODES = 1_000
const PAGE_KEYS = 5_000
/** Connections of the service's pool, several times over. */
const STIRS = 40
const WARM_UP_PER_SECOND = 500
const WARM_UP_SECONDS = 5
const GENERATOR_BUSY_MAX = 0.95
const MIB = 1024 * 1024
const DELTA = '/v1/policy/delta'
const SNAPSHOT = '/v1/policy/snapshot'
const GREETING = '/greeting'

export const bench: Bench = {
  name: 'G15',
  title: '1,000 nodes read 10,000 keys again, all at once, against nginx serving the same pages',
  goal: [
    { metric: 'ms', direction: 'at most', floor: 2, moonshot: 1.2 },
    { metric: 'rows read a key', compare: 'value', direction: 'at most', floor: 2, moonshot: 1.05 },
    { metric: 'RSS +MiB', compare: 'value', direction: 'at most', floor: 128, moonshot: 64 },
    { metric: 'answers of 503', compare: 'value', direction: 'at most', floor: null, moonshot: 0 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const nginx = await run.use(startNginx())
    const vendor = await makeVendor(server.url)
    await fillKeys(postgres, vendor, KEYS)
    const project: Project = { server, postgres, vendor, nginx, storms: 0 }
    await pollForAWhile(project)
    server.resetPeakRss()
    const idleBytes = server.peakRssBytes()
    const { bytes } = await stormService(project)
    run.note(
      `${NODES} nodes, a connection each; each reads ${(bytes / NODES / MIB).toFixed(2)} MiB, in pages of ${PAGE_KEYS} keys, not compressed`,
    )
    run.note('CPU ms: of the service and Postgres, or of nginx; the fleet has the other core')
    run.note('RSS: the peak in a storm over what the service held while the same fleet polled')
    return [keyrail(project, idleBytes), files(project)]
  },
}

type Project = {
  server: Keyrail
  postgres: ScratchPostgres
  vendor: Vendor
  nginx: Nginx
  /** Counts the storms. Each storm has different limits; nginx serves the pages of the last one. */
  storms: number
}

function keyrail(project: Project, idleBytes: number): Arm {
  const { server, postgres, vendor } = project
  const stir = () =>
    Promise.all(
      Array.from({ length: STIRS }, () => call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)),
    )
  return {
    name: 'keyrail',
    role: 'subject',
    async measure({ seconds }) {
      const readBefore = await settledKeyReads(postgres, 0, stir)
      server.resetPeakRss()
      const runs = await repeat(seconds, async () => {
        const cpuBefore = treeCpuSeconds(server.pid) + postgres.cpuSeconds()
        const counts = await stormService(project)
        const cpu = treeCpuSeconds(server.pid) + postgres.cpuSeconds() - cpuBefore
        return { ...counts, cpuMs: cpu * 1000 }
      })
      const rss = (server.peakRssBytes() - idleBytes) / MIB
      const read = (await settledKeyReads(postgres, readBefore + runs.length * KEYS, stir)) - readBefore
      const values = {
        ...figuresOf(runs),
        'rows read a key': read / runs.length / KEYS,
        'RSS +MiB': rss,
        'answers of 503': median(runs.map(run => run.refused)),
      }
      return { values, answer: answerOf(runs), doubt: doubtOf(runs) }
    },
  }
}

function files(project: Project): Arm {
  const { nginx, vendor } = project
  replaceFile(nginx.fileOf(GREETING), '{}')
  return {
    name: 'files of nginx',
    role: 'control',
    async measure({ seconds }) {
      const runs = await repeat(seconds, async () => {
        const cpuBefore = treeCpuSeconds(nginx.pid)
        const counts = await runStorm({
          url: nginx.url,
          headers: {},
          greeting: `${GREETING}?`,
          ...pathsOf(vendor, 0),
          trigger: null,
          rateLimits: limitsOf(project.storms),
        })
        return { ...counts, cpuMs: (treeCpuSeconds(nginx.pid) - cpuBefore) * 1000 }
      })
      return { values: figuresOf(runs), answer: answerOf(runs), doubt: doubtOf(runs) }
    },
  }
}

/** Changes the default limits, lets the fleet read the result, and gives nginx the same pages. */
async function stormService(project: Project): Promise<StormCounts> {
  const { server, vendor, nginx } = project
  const path = `/v1/projects/${vendor.projectId}`
  const { policy_version } = await call(server.url, vendor.token, path)
  const authorization = { authorization: `Bearer ${vendor.token}` }
  const rateLimits = limitsOf(++project.storms)
  const paths = pathsOf(vendor, Number(policy_version))
  const counts = await runStorm({
    url: server.url,
    headers: authorization,
    greeting: paths.first,
    ...paths,
    trigger: {
      url: server.url,
      request: {
        method: 'PATCH',
        path,
        headers: { ...authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ default_rate_limits: rateLimits }),
      },
    },
    rateLimits,
  })
  const [first, next, ...more] = counts.pages
  if (first === undefined || next === undefined || more.length > 0) {
    throw new BenchFault(`${counts.pages.length} pages, nginx is set up for 2`)
  }
  replaceFile(nginx.fileOf(DELTA), first)
  replaceFile(nginx.fileOf(SNAPSHOT), next)
  return counts
}

/** The fleet's normal work. Afterwards the service knows its nodes, and each connection was open once. */
async function pollForAWhile({ server, vendor }: Project): Promise<void> {
  const { policy_version } = await call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)
  const { first } = pathsOf(vendor, Number(policy_version))
  const headers = { authorization: `Bearer ${vendor.token}` }
  await openLoop({
    url: server.url,
    connections: NODES,
    perSecond: WARM_UP_PER_SECOND,
    seconds: WARM_UP_SECONDS,
    requests: Array.from({ length: NODES }, (_, n) => ({ path: `${first}&node=bench-${n}`, headers })),
    expectBody: 'policy_delta',
  })
}

function pathsOf({ projectId }: Vendor, since: number) {
  const query = `project_id=${projectId}&max_keys=${PAGE_KEYS}`
  return { first: `${DELTA}?${query}&since=${since}`, next: `${SNAPSHOT}?${query}` }
}

const limitsOf = (storms: number) => [
  { id: 'default', limit: 100_000 + storms, window_ms: 60_000, algorithm: 'sliding', scope: 'key' },
]

function runStorm(plan: Omit<StormPlan, 'nodes' | 'keys'>): Promise<StormCounts> {
  const script = new URL('service/fleet-storm-process.ts', import.meta.url).href
  return runGenerator<StormPlan, StormCounts>(script, { ...plan, nodes: NODES, keys: KEYS })
}

type StormRun = StormCounts & { cpuMs: number }

/** As often as fits into a turn, at least once. */
async function repeat(seconds: number, work: () => Promise<StormRun>): Promise<StormRun[]> {
  const runs: StormRun[] = []
  const until = performance.now() + seconds * 1000
  do runs.push(await work())
  while (performance.now() < until)
  return runs
}

const figuresOf = (runs: readonly StormRun[]) => ({
  ms: median(runs.map(run => run.ms)),
  'CPU ms': median(runs.map(run => run.cpuMs)),
  'GB/s': median(runs.map(run => run.bytes / run.ms / 1e6)),
})

const answerOf = (runs: readonly StormRun[]) => ({
  nodes: NODES,
  ids: [...new Set(runs.map(run => run.ids))],
})

const doubtOf = (runs: readonly StormRun[]) =>
  median(runs.map(run => run.generatorBusy)) > GENERATOR_BUSY_MAX ? 'the fleet used up its core' : undefined
