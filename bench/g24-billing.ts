import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import { psqlTimes } from './harness/psql-times.ts'
import { fillKeys } from './service/keys-fill.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { fillUsage } from './service/usage-fill.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * The bill of six months over HTTP, authenticated and in its transaction, against two queries in `psql`: the same count
 * over the usage by key and hour, and a read of the rows that the service reads, kept by tenant and month.
 */

const KEYS = 10_000
const QUICK_KEYS = 1_000
const KEYS_OF_TENANT = 10
const HOURS = 30 * 24
const MONTHS = 6
/** Statements of a turn in psql. One on the table of hours takes seconds. */
const STATEMENTS = 200

const byMonth = (workspaceId: string) => `
  select to_char(month, 'YYYY-MM-DD'), count(distinct tenant_id) from usage_months
  where workspace_id = '${workspaceId}' and env = 'live'
    and month >= date_trunc('month', now() at time zone 'UTC') - interval '${MONTHS - 1} months'
  group by month order by month`

const byHour = (workspaceId: string) => `
  select to_char(date_trunc('month', h.hour at time zone 'UTC'), 'YYYY-MM-DD') as month, count(distinct k.tenant_id)
  from usage_hours h join api_keys k on k.workspace_id = h.workspace_id and k.id = h.key_id
  where h.workspace_id = '${workspaceId}' and k.env = 'live'
    and h.hour >= (date_trunc('month', now() at time zone 'UTC') - interval '${MONTHS - 1} months') at time zone 'UTC'
  group by 1 order by 1`

const inMonths = 'psql, months'

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

export const bench: Bench = {
  name: 'G24',
  title:
    'The bill with 10,000 keys × 24 hours × 30 days stored (quick: 1,000 keys), against the aggregate in psql',
  goal: [
    { metric: 'ms', direction: 'at most', floor: 3, moonshot: null },
    { metric: 'ms', direction: 'at most', floor: 3, moonshot: null, against: inMonths },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const keys = run.quick ? QUICK_KEYS : KEYS
    const vendor = await makeVendor(server.url, { tenants: keys / KEYS_OF_TENANT })
    await fillKeys(postgres, vendor, keys)
    const rows = await fillUsage(postgres, vendor, HOURS)
    if (rows !== keys * HOURS) throw new BenchFault(`${rows} hours are stored, not ${keys * HOURS}`)
    run.note(
      `${rows} hours of ${keys} keys, ${vendor.tenantIds.length} tenants, in as many months as 30 days touch`,
    )

    const path = `/v1/usage/billing?months=${MONTHS}`
    const months = (await call(server.url, vendor.token, path)).data as {
      month: string
      billable_tenants: number
    }[]
    const answer = months
      .filter(one => one.billable_tenants > 0)
      .map(one => `${one.month}|${one.billable_tenants}`)
    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const { perSecond, doubt } = await closedLoop({
          url: server.url,
          connections: 1,
          seconds,
          requests: [{ path, headers: { authorization: `Bearer ${vendor.token}` } }],
          expectBody: JSON.stringify(months.at(-1)),
        })
        return { values: { ms: 1000 / perSecond }, answer, doubt }
      },
    }
    const psql = (name: string, role: Arm['role'], query: string, times: number): Arm => ({
      name,
      role,
      async measure() {
        const { ms, rows } = await psqlTimes(postgres.connection, query, times)
        // The first call finds neither a plan nor a cached page.
        return { values: { ms: mean(ms.slice(Math.min(1, ms.length - 1))) }, answer: rows }
      },
    })
    return [
      ours,
      psql(inMonths, 'peer', byMonth(vendor.workspaceId), STATEMENTS),
      psql('psql, hours', 'control', byHour(vendor.workspaceId), 1),
    ]
  },
}
