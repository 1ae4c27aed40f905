import { assertRoomForEnded } from '../gate/ended.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { countSecretKeys } from './sql.ts'

/**
 * Refuses a new secret key when the workspace has reached its cap of active ones or of ended ones: what an attacker with a
 * stolen key can create must have a bound. Concurrent requests do not see each other's keys and may exceed a cap slightly.
 * @throws {Refusal} `key_limit_reached`.
 */
export async function assertRoomForSecretKey(
  { config }: Pick<SecretKeyNeeds, 'config'>,
  tx: Tx,
): Promise<void> {
  const most = config.maxActiveSecretKeys
  const { active, ended } = await countSecretKeys(tx, most)
  assertRoomForEnded('workspace', 'secret keys', ended, most)
  if (active < most) return
  throw new Refusal(
    'key_limit_reached',
    `The workspace has ${most} active secret keys, which is the limit. Revoke one first.`,
  )
}
