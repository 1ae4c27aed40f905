import { assertRoomForEnded, endedMax } from '../gate/ended.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { recentlyUsed } from '../platform/recently-used.ts'
import { countStoredKeys } from './sql.ts'

/** Refuses keys to tenants with too many that are revoked or expired. */
export interface EndedRoom {
  /** @returns how many keys the tenant has, active or ended; null where that is far below the cap. */
  count(tx: Tx, tenantId: string): Promise<number | null>
  /**
   * Concurrent requests do not see each other's keys, so the cap may be exceeded slightly.
   * @param tenantId one that exists.
   * @param active how many of its keys are active.
   * @param stored what `count` returned.
   * @throws {Refusal} `key_limit_reached`.
   */
  assert(tenantId: string, active: number, stored: number | null): void
}

/** How long a count stands that found a wide room, in ms. It goes through every key of the tenant. */
const standsMs = 10_000
/** More keys than a tenant can get in that time: each takes the lock of its workspace's audit head. */
const wideRoom = 20_000
const tenantsMax = 10_000

export function createEndedRoom(
  { maxActiveKeysPerTenant: activeMax }: { readonly maxActiveKeysPerTenant: number },
  clock: Pick<Clock, 'monotonic'>,
): EndedRoom {
  const most = endedMax(activeMax)
  const wide = recentlyUsed<{ readonly until: number }>(tenantsMax)
  return {
    async count(tx, tenantId) {
      const known = wide.get(tenantId)
      if (known !== undefined && clock.monotonic() < known.until) return null
      return await countStoredKeys(tx, tenantId, activeMax + most)
    },
    assert(tenantId, active, stored) {
      if (stored === null) return
      const ended = stored - active
      assertRoomForEnded('tenant', 'keys', ended, activeMax)
      if (most - ended > wideRoom) wide.set(tenantId, { until: clock.monotonic() + standsMs })
    },
  }
}
