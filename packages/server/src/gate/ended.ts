import { Refusal } from '../platform/refusal.ts'

/**
 * Keys and secret keys that are revoked or expired. They stay to be read, but each costs what ends their makers and every
 * backup, and any number can be made by a thief, so there are bounds.
 */

/** How many ended ones there may be for each active one that there may be. */
const endedForActive = 10
export const endedMax = (activeMax: number): number => endedForActive * activeMax

/** How long they stay after their end. */
const keptDays = 90

const longAgo = `service_now() - interval '${keptDays} days'`
/** The end of the key `k`, as the indexes `…_by_end` have it. */
export const byEndSql = 'least(k.revoked_at, k.expires_at)'
/**
 * SQL for whether the key `k` ended so long ago that nothing needs it. One may be made with an expiry in the past, or be
 * revoked long after it expired.
 */
export const isLongEndedSql = `(k.revoked_at is not null or k.expires_at is not null) and ${byEndSql} < ${longAgo}
     and greatest(k.created_at, k.revoked_at) < ${longAgo}`

/**
 * @param owner what has the keys.
 * @throws {Refusal} `key_limit_reached`.
 */
export function assertRoomForEnded(
  owner: 'tenant' | 'workspace',
  keys: 'keys' | 'secret keys',
  ended: number,
  activeMax: number,
): void {
  const most = endedMax(activeMax)
  if (ended < most) return
  throw new Refusal(
    'key_limit_reached',
    `The ${owner} has ${most} revoked or expired ${keys}, which is the limit. Each is deleted ${keptDays} days after its end; to go on before, let the operator raise the limit.`,
  )
}
