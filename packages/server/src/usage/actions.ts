import type { TakenUsageReport, UsageReport } from '@keyrail/contract/usage'
import type { BillingUsage, KeyUsage, TenantUsage, TenantUsageQuery } from '@keyrail/contract/vendor/usage'
import type { Deps } from '../deps.ts'
import { sightOf, type VendorPrincipal, visibleEnvs } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import { page } from '../platform/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { readKeyUsage } from './key-usage.ts'
import type { Report } from './reports.ts'
import {
  keyIsThere,
  listBilling,
  listTenantMonths,
  type TenantMonthPlace,
  type TenantMonthRow,
} from './sql.ts'

const hourMs = 3_600_000

/** Adds what a server has counted, once for each `report_id`. */
export async function reportUsage(
  { usageReports }: Deps,
  { principal, body, until }: Call<VendorPrincipal, unknown, UsageReport>,
): Promise<TakenUsageReport> {
  const report: Report = {
    workspaceId: principal.workspaceId,
    env: principal.reach === 'test' ? 'test' : 'live',
    projectIds: principal.projectIds,
    reportId: body.report_id.toLowerCase(),
    sampleRate: body.sample_rate,
    records: body.records.map(({ key_id, hour, count }) => ({
      keyId: key_id,
      hour: Math.floor(new Date(hour).getTime() / hourMs),
      count,
    })),
  }
  // Each round waits for the row that somebody holds; the lane ends it when the caller must be answered.
  for (;;) {
    const tally = await usageReports.run(report, until)
    if (tally !== null) return { object: 'usage_report', report_id: report.reportId, ...tally }
  }
}

export function getKeyUsage(
  { db }: Deps,
  principal: VendorPrincipal,
  id: string,
  days = 30,
): Promise<KeyUsage> {
  return db.inWorkspace(principal.workspaceId, async tx => {
    if (!(await keyIsThere(tx, id, sightOf(principal)))) throw new Refusal('not_found')
    return await readKeyUsage(tx, id, days)
  })
}

export async function getBillingUsage(
  { db }: Deps,
  { workspaceId }: VendorPrincipal,
  months = 6,
): Promise<BillingUsage> {
  const data = await db.inWorkspace(workspaceId, tx => listBilling(tx, months))
  return { object: 'billing_usage', data }
}

export async function listTenantUsage(
  { db, cursors }: Deps,
  principal: VendorPrincipal,
  { months = 1, env, limit = 50, cursor }: TenantUsageQuery,
) {
  const { workspaceId } = principal
  const before =
    cursor === undefined ? undefined : toPlace(cursors.open('usage_tenants', workspaceId, cursor))
  const envs = env === undefined ? visibleEnvs(principal) : [env]
  const rows = await db.inWorkspace(workspaceId, tx => listTenantMonths(tx, { months, envs, limit }, before))
  return page(rows, limit, toTenantUsage, last =>
    cursors.seal('usage_tenants', workspaceId, positionOf(last)),
  )
}

const toTenantUsage = (row: TenantMonthRow): TenantUsage => ({
  ...row,
  request_count: Number(row.request_count),
})

const positionOf = ({ month, tenant_id, project_id, env }: TenantMonthRow): string =>
  JSON.stringify([month, tenant_id, project_id, env])

/** Of a cursor that was found to be one of ours. */
function toPlace(position: string): TenantMonthPlace {
  const [month, tenant_id, project_id, env] = JSON.parse(position)
  return { month, tenant_id, project_id, env }
}
