import type { Deps } from '../deps.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { countActiveSecretKeys } from './sql.ts'

/**
 * Refuses a workspace that has as many active secret keys as it may have. A thief who makes keys with a stolen one must not
 * make more of them than one transaction can revoke. Requests at the same moment do not see each other's keys, so there
 * may be some more.
 * @throws {Refusal} `key_limit_reached`.
 */
export async function assertRoomForSecretKey({ config }: Pick<Deps, 'config'>, tx: Tx): Promise<void> {
  const most = config.maxActiveSecretKeys
  if ((await countActiveSecretKeys(tx, most)) < most) return
  throw new Refusal('key_limit_reached', `The workspace has ${most} active secret keys; revoke one first.`)
}
