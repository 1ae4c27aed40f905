import type { Deps } from '../deps.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import type { KeyRow } from './rows.ts'
import { countActiveKeys, lockEmbedRoom, lockTenantCap } from './sql.ts'

const roomMargin = 500

/**
 * Refuses a tenant that has as many active keys as it may have. Far from the cap a count is enough; near it,
 * requests look one at a time, so that none slips past another.
 */
export async function assertRoom({ config }: Deps, tx: Tx, tenantId: string, active: number): Promise<void> {
  const most = config.maxActiveKeysPerTenant
  if (active < most - roomMargin) return
  await lockTenantCap(tx, tenantId)
  if ((await countActiveKeys(tx, tenantId, most)) < most) return
  throw new Refusal('key_limit_reached', `The tenant has ${most} active keys; revoke one first.`)
}

/** Keys that a tenant may make in the embed plane in any 60 seconds, successors included. */
export const embeddedAMinute = 60

/**
 * The same for what is made in the embed plane, where a browser may ask as often as it likes: so many in a minute, and
 * so many that are active. Both are few, so requests always look one at a time.
 * @param more by how much there will be more active keys of that plane: 0 where one takes the place of another.
 */
export async function assertEmbedRoom(
  { config }: Deps,
  tx: Tx,
  of: Pick<KeyRow, 'project_id' | 'tenant_id' | 'env'>,
  more: 0 | 1,
): Promise<void> {
  const most = config.embedMaxActiveKeys
  const { active, made, room_in_ms } = await lockEmbedRoom(tx, of, { active: most, aMinute: embeddedAMinute })
  if (made >= embeddedAMinute) {
    throw new Refusal('too_many_requests', `A tenant makes ${embeddedAMinute} keys a minute here at most.`, {
      headers: { 'retry-after': String(Math.max(1, Math.ceil((room_in_ms ?? 0) / 1_000))) },
    })
  }
  if (active + more <= most) return
  throw new Refusal(
    'key_limit_reached',
    `There are ${most} active keys that were made here; revoke one first.`,
  )
}
