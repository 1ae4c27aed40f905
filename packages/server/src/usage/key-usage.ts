import type { KeyUsage } from '@keyrail/contract/vendor/usage'
import type { ReadTx } from '../platform/db/transaction.ts'
import { listDays } from './sql.ts'

/** How often a key was used on each of the last days. The caller has checked that the key may be seen. */
export async function readKeyUsage(tx: ReadTx, keyId: string, days: number): Promise<KeyUsage> {
  const rows = await listDays(tx, keyId, days)
  const data = rows.map(({ date, request_count }) => ({ date, request_count: Number(request_count) }))
  const estimated = rows.some(row => row.estimated)
  const total = data.reduce((sum, { request_count }) => sum + request_count, 0)
  return { object: 'key_usage', key_id: keyId, days, total, estimated, data }
}
