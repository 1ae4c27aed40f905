import type { Deps } from '../deps.ts'
import { weaknessOf } from '../platform/crypto/weak-passwords.ts'
import { invalidField } from '../platform/refusal.ts'

/**
 * Refuses a new password that is short, common, or its owner's address. Nothing is asked of its composition.
 * @throws {Refusal} `validation_failed`, which never quotes it.
 */
export async function refuseWeakPassword(
  { config }: Pick<Deps, 'config'>,
  password: string,
  email: string,
): Promise<void> {
  if ([...password].length < config.passwordMinLength)
    throw invalidField('password', `must have at least ${config.passwordMinLength} characters`)
  const weakness = await weaknessOf(password, email)
  if (weakness === 'common') throw invalidField('password', 'is a common password; choose another one')
  if (weakness === 'same_as_address') throw invalidField('password', 'must not be the e-mail address')
}
