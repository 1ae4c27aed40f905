import { endedMax, type Maker, makeWay, tooManyEnded } from '../lifecycle/ended.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import {
  deleteEndedSecretKeys,
  findSecretKeysToDelete,
  lockSecretKeyQuota,
  type SecretKeyPlace,
} from './ended-sql.ts'
import type { SecretKeyNeeds } from './needs.ts'

/** How many keys make space in one transaction, so that the next requests need no space. Each deletion takes a lock. */
const batchMax = 100

/**
 * Makes space for a secret key within the caps, which limit what an attacker with a stolen key can create. Requests of an
 * environment check one at a time, so none exceeds the cap of active keys. Comes before the lock of any secret key.
 * @param more how many active keys the request adds: 0 when the new key replaces another.
 * @throws {Refusal} `key_limit_reached`.
 */
export async function assertSecretKeyQuota(
  { config }: Pick<SecretKeyNeeds, 'config'>,
  tx: Tx,
  place: SecretKeyPlace,
  maker: Maker,
  more: 0 | 1,
): Promise<void> {
  const most = config.maxActiveSecretKeys
  const { active, ended } = await lockSecretKeyQuota(tx, place)
  if (active + more > most) {
    throw new Refusal(
      'key_limit_reached',
      `The ${place.project_ids === null ? 'workspace' : 'project'} has ${most} active secret keys in this environment, which is the limit. Revoke one first.`,
    )
  }
  if (ended < endedMax(most)) return
  const rows = await findSecretKeysToDelete(tx, place, maker.id, batchMax)
  const ids = makeWay(rows, 1 + ended - endedMax(most))
  if (ids.length === 0 && !maker.passes) throw tooManyEnded('workspace', 'secret keys', most)
  if (ids.length > 0) await deleteEndedSecretKeys(tx, ids)
}
