import { endedMax, type Maker, makeWay, tooManyEnded } from '../lifecycle/ended.ts'
import type { Clock } from '../platform/clock.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { countEndedKeys, deleteEndedKeys, findKeysToDelete } from './ended-sql.ts'
import type { KeyPlace } from './rows.ts'

/** Bounds the keys of a tenant that are revoked or expired. */
export interface EndedQuota {
  /** @returns how many keys of the place have ended; null if that is far below the cap. */
  count(tx: Tx, place: KeyPlace): Promise<number | null>
  /**
   * At the cap, deletes ended keys, while the policy head of the project is locked. Concurrent requests do not see each other's
   * keys, so the cap may be exceeded slightly.
   * @param ended what `count` returned.
   * @throws {Refusal} `key_limit_reached`.
   */
  make(tx: Tx, place: KeyPlace, maker: Maker, ended: number | null): Promise<void>
}

/** How long a count that found much quota is used, in ms. A count reads every key of the tenant. */
const standsMs = 10_000
/** More keys than a tenant can get in that time, because each key takes the lock of its workspace's audit head. */
const wideQuota = 20_000
/** A count that found less quota is used for a shorter time; below this quota, a count is not used again. */
const narrowQuota = 200
const placesMax = 10_000
/** How many keys make space in one transaction, so that the next requests need no space. */
const batchMax = 500

export function createEndedQuota(
  {
    maxActiveKeysPerTenant,
    embedMaxActiveKeys,
  }: { readonly maxActiveKeysPerTenant: number; readonly embedMaxActiveKeys: number },
  clock: Pick<Clock, 'monotonic'>,
): EndedQuota {
  const activeMaxOf = (place: KeyPlace) => (place.is_embedded ? embedMaxActiveKeys : maxActiveKeysPerTenant)
  const wide = recentlyUsed<{ readonly until: number }>(placesMax)
  return {
    async count(tx, place) {
      const known = wide.get(nameOf(place))
      if (known !== undefined && clock.monotonic() < known.until) return null
      return await countEndedKeys(tx, place, endedMax(activeMaxOf(place)) + batchMax)
    },
    async make(tx, place, maker, ended) {
      if (ended === null) return
      const activeMax = activeMaxOf(place)
      let left = endedMax(activeMax) - ended
      if (left <= 0) {
        const rows = await findKeysToDelete(tx, place, maker.id, batchMax)
        const ids = makeWay(rows, 1 - left)
        if (ids.length === 0 && !maker.passes) throw tooManyEnded('tenant', 'keys', activeMax)
        if (ids.length > 0) left += (await deleteEndedKeys(tx, ids)).length
      }
      if (left < narrowQuota) return
      const stands = standsMs * Math.min(1, left / wideQuota)
      wide.set(nameOf(place), { until: clock.monotonic() + stands })
    },
  }
}

const nameOf = ({ tenant_id, project_id, env, is_embedded }: KeyPlace): string =>
  `${tenant_id} ${project_id} ${env} ${is_embedded}`
