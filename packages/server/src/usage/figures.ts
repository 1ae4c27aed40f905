import type { DailyUsage } from '@keyrail/contract/vendor/usage'
import type { ReadTx } from '../platform/db/transaction.ts'
import { type DailyFilter, listBilling, listDaily } from './sql.ts'

/** Requests by day. The caller has checked that the environments may be seen. */
export async function readDailyUsage(tx: ReadTx, filter: DailyFilter): Promise<DailyUsage> {
  const rows = await listDaily(tx, filter)
  const data = rows.map(({ date, request_count }) => ({ date, request_count: Number(request_count) }))
  const estimated = rows.some(row => row.estimated)
  const total = data.reduce((sum, { request_count }) => sum + request_count, 0)
  return { object: 'daily_usage', days: filter.days, total, estimated, data }
}

/** Tenants with a live request in this month. */
export async function countBillableTenants(tx: ReadTx): Promise<number> {
  return (await listBilling(tx, 1))[0]?.billable_tenants ?? 0
}
