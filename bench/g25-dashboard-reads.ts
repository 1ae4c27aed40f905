import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import { psqlTimes } from './harness/psql-times.ts'
import { fillDashboard } from './service/dashboard-fill.ts'
import { dashboardReads } from './service/dashboard-reads.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * The reads of the dashboard over HTTP, authenticated and in their transactions, against `psql` with one statement that
 * reads the same rows.
 */

const FULL = { keys: 100_000, tenants: 10_000, auditRows: 1_000_000, nodes: 1_000 }
const QUICK = { keys: 10_000, tenants: 1_000, auditRows: 100_000, nodes: 100 }
/** Statements of a turn in psql; the first finds neither a plan nor a cached page. */
const STATEMENTS = 200

const firstColumn = (row: string) => row.split('|')[0] ?? ''

/** The CPU time of Postgres for one answer: what else runs on the machine hardly changes it. */
const databaseTime = (metric: string) => metric.replace(/ms$/, 'database ms')
const serviceTime = (metric: string) => metric.replace(/ms$/, 'service ms')

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

const metrics = dashboardReads(
  { workspaceId: '', projectId: '', tenantIds: [] },
  { actor: '', target: '' },
  0,
).map(({ metric }) => metric)
const [headline = '', ...others] = metrics
const goal = (metric: string) => ({ metric, direction: 'at most', floor: 2, moonshot: null }) as const
const databaseGoal = (metric: string) =>
  ({
    metric: databaseTime(metric),
    compare: 'value',
    direction: 'at most',
    floor: 5,
    moonshot: null,
  }) as const

export const bench: Bench = {
  name: 'G25',
  title:
    'The reads of the dashboard with 100,000 keys, 10,000 tenants, 1,000,000 audit rows (quick: a tenth), against psql',
  goal: [goal(headline), ...others.map(goal), ...metrics.map(databaseGoal)],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const size = run.quick ? QUICK : FULL
    const subjects = await fillDashboard(postgres, vendor, size)
    const reads = dashboardReads(vendor, subjects, size.nodes)
    const answers: string[][] = []
    for (const { path, rowsOf } of reads) answers.push(rowsOf(await call(server.url, vendor.token, path)))
    if (answers.some(rows => rows.length === 0)) throw new BenchFault('a read finds nothing')

    const postgresSeconds = () => postgres.cpuSeconds()

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const values: Record<string, number> = {}
        let doubt: string | undefined
        for (const { metric, path } of reads) {
          const [serviceBefore, postgresBefore] = [server.cpuSeconds(), postgresSeconds()]
          const load = await closedLoop({
            url: server.url,
            connections: 1,
            seconds: Math.max(seconds / reads.length, 1),
            requests: [{ path, headers: { authorization: `Bearer ${vendor.token}` } }],
            expectBody: '"object":',
          })
          values[metric] = 1000 / load.perSecond
          values[databaseTime(metric)] = ((postgresSeconds() - postgresBefore) * 1000) / load.answered
          values[serviceTime(metric)] = ((server.cpuSeconds() - serviceBefore) * 1000) / load.answered
          doubt ??= load.doubt
        }
        return { values, answer: answers, doubt }
      },
    }
    const psql: Arm = {
      name: 'psql',
      role: 'control',
      async measure() {
        const values: Record<string, number> = {}
        const found: (readonly string[])[] = []
        for (const [i, { metric, sql }] of reads.entries()) {
          const before = postgresSeconds()
          const { ms, rows } = await psqlTimes(postgres.connection, sql, STATEMENTS)
          values[metric] = mean(ms.slice(1))
          values[databaseTime(metric)] = ((postgresSeconds() - before) * 1000) / STATEMENTS
          found.push(answers[i]?.some(row => row.includes('|')) ? rows : rows.map(firstColumn))
        }
        return { values, answer: found }
      },
    }
    return [ours, psql]
  },
}
