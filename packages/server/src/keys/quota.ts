import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import type { IssueNeeds } from './needs.ts'
import type { JudgedKeyRow, KeyPlace } from './rows.ts'
import { countActiveKeys, holdTenant, lockEmbedQuota, lockTenantCap } from './sql.ts'

const quotaMargin = 500

/**
 * Refuses an active key to a tenant that has reached its cap in a project and environment. Far below the cap a plain count is
 * enough; near the cap, requests check one at a time, so that concurrent requests cannot exceed it.
 */
export async function assertQuota(
  { config }: Pick<IssueNeeds, 'config'>,
  tx: Tx,
  place: Omit<KeyPlace, 'is_embedded'>,
  active: number,
): Promise<void> {
  const most = config.maxActiveKeysPerTenant
  if (active < most - quotaMargin) return
  await lockTenantCap(tx, place.tenant_id)
  if ((await countActiveKeys(tx, place, most)) < most) return
  throw new Refusal(
    'key_limit_reached',
    `The tenant has ${most} active keys in this project and environment, which is the limit. Revoke one first.`,
  )
}

/** How many keys a tenant may create with embed tokens in any 60 seconds, rotations included. */
export const embeddedAMinute = 60

/**
 * The limits of keys created with embed tokens, because a browser can send any number of requests: a limit per minute and a
 * limit of active keys. Both limits are low, so requests always check one at a time.
 * @param more how many active keys the request adds: 0 when the new key replaces another.
 */
export async function assertEmbedQuota(
  { config }: Pick<IssueNeeds, 'config'>,
  tx: Tx,
  of: Omit<KeyPlace, 'is_embedded'>,
  more: 0 | 1,
): Promise<void> {
  const { made, free_in_ms, active } = await readEmbedQuota(config, tx, of)
  if (made >= embeddedAMinute) {
    throw new Refusal(
      'too_many_requests',
      `A tenant can create ${embeddedAMinute} keys a minute with embed tokens.`,
      {
        headers: { 'retry-after': String(Math.max(1, Math.ceil((free_in_ms ?? 0) / 1_000))) },
      },
    )
  }
  assertFewEmbedded(config, active + more)
}

const readEmbedQuota = (config: IssueNeeds['config'], tx: Tx, of: Omit<KeyPlace, 'is_embedded'>) =>
  lockEmbedQuota(tx, of, { active: config.embedMaxActiveKeys, aMinute: embeddedAMinute })

function assertFewEmbedded({ embedMaxActiveKeys: most }: IssueNeeds['config'], active: number): void {
  if (active <= most) return
  throw new Refusal(
    'key_limit_reached',
    `The tenant has ${most} active keys created with embed tokens, which is the limit. Revoke one first.`,
  )
}

/**
 * For a new expiry, which makes an expired key active again: the key then needs a tenant, and the quota of a new key. Takes the
 * lock of the cap before the key is locked, since the key may expire in between.
 * @returns a function that refuses, for the key as locked.
 */
export async function assertQuotaToRevive(
  { config }: Pick<IssueNeeds, 'config'>,
  tx: Tx,
  found: JudgedKeyRow,
): Promise<(locked: JudgedKeyRow, expiresAt: Date | null) => void> {
  const isRevived = (locked: JudgedKeyRow, expiresAt: Date | null) =>
    !locked.is_active && (expiresAt === null || expiresAt > locked.now)
  const tenant = await holdTenant(tx, found.tenant_id)
  if (tenant === null) throw new Refusal('key_not_active', 'A key of a deleted tenant cannot be renewed.')
  if (found.embedded_at !== null) {
    const { active } = await readEmbedQuota(config, tx, found)
    return (locked, expiresAt) => {
      if (isRevived(locked, expiresAt)) assertFewEmbedded(config, active + 1)
    }
  }
  await lockTenantCap(tx, found.tenant_id)
  const active = await countActiveKeys(tx, found, config.maxActiveKeysPerTenant)
  return (locked, expiresAt) => {
    if (isRevived(locked, expiresAt) && active >= config.maxActiveKeysPerTenant) {
      throw new Refusal(
        'key_limit_reached',
        `The tenant has ${active} active keys in this project and environment, which is the limit. Revoke one first.`,
      )
    }
  }
}
