import type { KeyUsage } from '@keyrail/contract/vendor/usage'
import type { Tx } from '../platform/db/transaction.ts'
import { listDays } from './sql.ts'

/** What a key was used for on each of the last days. Whether the caller may see the key has been asked before. */
export async function readKeyUsage(tx: Tx, keyId: string, days: number): Promise<KeyUsage> {
  const rows = await listDays(tx, keyId, days)
  const data = rows.map(({ date, request_count }) => ({ date, request_count: Number(request_count) }))
  const total = data.reduce((sum, { request_count }) => sum + request_count, 0)
  return { object: 'key_usage', key_id: keyId, days, total, data }
}
