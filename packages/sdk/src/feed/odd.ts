import { KeyringError } from '../runtime/errors.ts'
import type { Unreadable } from './record.ts'

/** What is told of answers that were taken all the same. Nothing that the service wrote is shown but ids. */

/** @param keys one at least */
export function unreadableKeys(keys: readonly Unreadable[]): KeyringError {
  const [{ keyId = '', why } = { why: '' }] = keys
  const which = /^[\w-]{1,64}$/.test(keyId) ? keyId : 'one without an id'
  const told =
    keys.length === 1
      ? `The API key ${which} cannot be read and is refused: ${why}`
      : `${keys.length} API keys cannot be read and are refused, such as ${which}: ${why}`
  return new KeyringError('unreadable_key', `${told}. A newer version of @keyrail/sdk may read it`, {
    retryable: false,
  })
}
