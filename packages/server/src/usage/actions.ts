import type { TakenUsageReport, UsageReport } from '@keyrail/contract/usage'
import type {
  BillingUsage,
  DailyUsage,
  DailyUsageQuery,
  KeyUsage,
  TenantUsage,
  TenantUsageQuery,
  TopUsage,
  TopUsageQuery,
} from '@keyrail/contract/vendor/usage'
import type { Caller } from '../gate/caller.ts'
import { sightOf, type VendorPrincipal, visibleEnvs } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import { findTenantId } from '../keys/find-tenant.ts'
import type { Db } from '../platform/db/db.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { page } from '../platform/paging/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { readDailyUsage } from './figures.ts'
import { readKeyUsage } from './key-usage.ts'
import type { UsageNeeds } from './needs.ts'
import { hourOf, untilTaken } from './report-lane.ts'
import type { Report } from './reports.ts'
import {
  keyIsThere,
  listBilling,
  listTenantMonths,
  type TenantMonthPlace,
  type TenantMonthRow,
} from './sql.ts'
import { readTopUsage } from './tops.ts'

/** Adds what a server has counted, once for each `report_id`. */
export async function reportUsage(
  { usageReports }: UsageNeeds,
  { principal, body, deadline }: Call<VendorPrincipal, unknown, UsageReport>,
): Promise<TakenUsageReport> {
  const report: Report = {
    workspaceId: principal.workspaceId,
    env: principal.reach === 'test' ? 'test' : 'live',
    projectIds: principal.projectIds,
    reportId: body.report_id.toLowerCase(),
    sampleRate: body.sample_rate,
    records: body.records.map(({ key_id, hour, count }) => ({ keyId: key_id, hour: hourOf(hour), count })),
  }
  const tally = await untilTaken(usageReports, deadline, report)
  // Every report has a record, and each record is counted or ignored.
  if (tally === 'absent') throw new Error('a usage report was neither taken nor known')
  return { object: 'usage_report', report_id: report.reportId, ...tally }
}

export function getKeyUsage(db: Db, principal: VendorPrincipal, id: string, days: number): Promise<KeyUsage> {
  return db.readAtOnce(principal.workspaceId, async tx => {
    const [isThere, usage] = await Promise.all([
      keyIsThere(tx, id, sightOf(principal)),
      readKeyUsage(tx, id, days),
    ])
    if (!isThere) throw new Refusal('not_found')
    return usage
  })
}

/** Ids that the workspace does not have match nothing: every day is 0. */
export function getDailyUsage(
  db: Db,
  principal: VendorPrincipal,
  { project_id, tenant_id, external_id, env, days }: DailyUsageQuery,
): Promise<DailyUsage> {
  const envs = env === undefined ? visibleEnvs(principal) : [env]
  const { workspaceId } = principal
  const read = (tx: ReadTx, tenantId = tenant_id) =>
    readDailyUsage(tx, { envs, projectId: project_id ?? null, tenantId: tenantId ?? null, days })
  if (external_id === undefined) return db.readAtOnce(workspaceId, tx => read(tx))
  return db.inWorkspace(workspaceId, async tx => read(tx, (await findTenantId(tx, external_id)) ?? noTenant))
}

/** Ids that the workspace does not have match nothing. */
export function getTopUsage(
  db: Db,
  { workspaceId }: VendorPrincipal,
  { by = 'tenant', env = 'live', days, project_id, tenant_id, most }: TopUsageQuery,
): Promise<TopUsage> {
  const filter = { by, env, days, projectId: project_id ?? null, tenantId: tenant_id ?? null, most }
  return db.readAtOnce(workspaceId, tx => readTopUsage(tx, filter))
}

/** An id that belongs to no tenant. */
const noTenant = '00000000-0000-0000-0000-000000000000'

export async function getBillingUsage(
  db: Db,
  { workspaceId }: VendorPrincipal,
  months: number,
): Promise<BillingUsage> {
  const data = await db.readAtOnce(workspaceId, tx => listBilling(tx, months))
  return { object: 'billing_usage', data }
}

export async function listTenantUsage(
  { deps: { cursors }, db, principal }: Caller<UsageNeeds>,
  { month, months, env, limit, cursor }: TenantUsageQuery,
) {
  const { workspaceId } = principal
  const before =
    cursor === undefined ? undefined : toPlace(cursors.open('usage_tenants', workspaceId, cursor))
  const envs = env === undefined ? visibleEnvs(principal) : [env]
  const rows = await db.readAtOnce(workspaceId, tx =>
    listTenantMonths(tx, { month: month ?? null, months, envs, limit }, before),
  )
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

/** Reads the position of a cursor, whose seal was verified. */
function toPlace(position: string): TenantMonthPlace {
  const [month, tenant_id, project_id, env] = JSON.parse(position)
  return { month, tenant_id, project_id, env }
}
