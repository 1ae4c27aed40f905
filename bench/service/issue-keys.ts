import { atOnce, makeAtOnce } from './at-once.ts'
import { keyOf } from './creations.ts'
import { type IssuedKey, type IssuedKeys, verifyingOrder } from './key-verdicts.ts'
import { call, type Vendor } from './vendor.ts'

const LANES = 16
/** The number of ended keys, and of expired ones. */
export const REFUSED_KEYS = 20
const MONTH_MS = 30 * 86_400_000

/** Keys of a vendor's tenants, issued over the API. Every second one expires, in a month. */
export async function issueKeys(url: string, vendor: Vendor, count: number): Promise<IssuedKeys> {
  const issue = async (number: number, expiresAt: number | null): Promise<IssuedKey> => {
    const expiry = expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }
    const { id, key } = await call(url, vendor.token, '/v1/keys', { ...keyOf(vendor, number), ...expiry })
    return { id: String(id), key: String(key) }
  }
  const expired = await makeAtOnce(REFUSED_KEYS, LANES, n => issue(n, Date.now() - MONTH_MS))
  const ended = await makeAtOnce(REFUSED_KEYS, LANES, n => issue(n, null))
  await atOnce(ended, LANES, ({ id }) => call(url, vendor.token, `/v1/keys/${id}/revoke`, {}))
  const keys = await makeAtOnce(count, LANES, n => issue(n, n % 2 ? Date.now() + MONTH_MS : null))
  return { valid: verifyingOrder(count).map(number => keys[number] as IssuedKey), ended, expired }
}
