import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import type { IssueNeeds } from './needs.ts'
import type { KeyRow } from './rows.ts'
import { countActiveKeys, lockEmbedRoom, lockTenantCap } from './sql.ts'

const roomMargin = 500

/**
 * Refuses to issue a key to a tenant that has reached its cap. Far below the cap a plain count is enough; near it,
 * requests check one at a time, so that concurrent ones cannot exceed it.
 */
export async function assertRoom(
  { config }: IssueNeeds,
  tx: Tx,
  tenantId: string,
  active: number,
): Promise<void> {
  const most = config.maxActiveKeysPerTenant
  if (active < most - roomMargin) return
  await lockTenantCap(tx, tenantId)
  if ((await countActiveKeys(tx, tenantId, most)) < most) return
  throw new Refusal(
    'key_limit_reached',
    `The tenant has ${most} active keys, which is the limit. Revoke one first.`,
  )
}

/** How many keys a tenant may create with embed tokens in any 60 seconds, rotations included. */
export const embeddedAMinute = 60

/**
 * The same for keys created with embed tokens, where a browser can send any number of requests: a limit per minute and
 * a limit of active keys. Both are low, so requests always check one at a time.
 * @param more how many active keys the request adds: 0 when the new key replaces another.
 */
export async function assertEmbedRoom(
  { config }: IssueNeeds,
  tx: Tx,
  of: Pick<KeyRow, 'project_id' | 'tenant_id' | 'env'>,
  more: 0 | 1,
): Promise<void> {
  const most = config.embedMaxActiveKeys
  const { active, made, room_in_ms } = await lockEmbedRoom(tx, of, { active: most, aMinute: embeddedAMinute })
  if (made >= embeddedAMinute) {
    throw new Refusal(
      'too_many_requests',
      `A tenant can create ${embeddedAMinute} keys a minute with embed tokens.`,
      {
        headers: { 'retry-after': String(Math.max(1, Math.ceil((room_in_ms ?? 0) / 1_000))) },
      },
    )
  }
  if (active + more <= most) return
  throw new Refusal(
    'key_limit_reached',
    `The tenant has ${most} active keys created with embed tokens, which is the limit. Revoke one first.`,
  )
}
