import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { countActiveSecretKeys } from './sql.ts'

/**
 * Refuses a new secret key when the workspace has reached its cap: an attacker with a stolen key must not be able to
 * create more keys than one transaction can revoke. Concurrent requests do not see each other's keys and may exceed the
 * cap slightly.
 * @throws {Refusal} `key_limit_reached`.
 */
export async function assertRoomForSecretKey(
  { config }: Pick<SecretKeyNeeds, 'config'>,
  tx: Tx,
): Promise<void> {
  const most = config.maxActiveSecretKeys
  if ((await countActiveSecretKeys(tx, most)) < most) return
  throw new Refusal(
    'key_limit_reached',
    `The workspace has ${most} active secret keys, which is the limit. Revoke one first.`,
  )
}
