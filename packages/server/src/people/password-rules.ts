import { weaknessOf } from '../platform/crypto/weak-passwords.ts'
import { invalidField } from '../platform/refusal.ts'
import type { PeopleNeeds } from './needs.ts'

/**
 * Refuses a new password that is short, common or its owner's address. There are no composition rules.
 * @throws {Refusal} `validation_failed`, which never quotes the password.
 */
export async function refuseWeakPassword(
  { config }: Pick<PeopleNeeds, 'config'>,
  password: string,
  email: string,
): Promise<void> {
  if ([...password].length < config.passwordMinLength)
    throw invalidField('password', `must have at least ${config.passwordMinLength} characters`)
  const weakness = await weaknessOf(password, email)
  if (weakness === 'common') throw invalidField('password', 'is a common password: choose another one')
  if (weakness === 'same_as_address') throw invalidField('password', 'must not be the e-mail address')
}
