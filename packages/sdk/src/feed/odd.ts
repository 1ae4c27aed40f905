import { KeyrailError } from '../runtime/errors.ts'
import type { Unreadable } from './record.ts'

/** What is told of answers that were taken all the same. Nothing that the service wrote is shown but ids. */

/** @param keys one at least */
export function unreadableKeys(keys: readonly Unreadable[]): KeyrailError {
  const [{ keyId = '', why } = { why: '' }] = keys
  const which = /^[\w-]{1,64}$/.test(keyId) ? keyId : 'one without an id'
  const told =
    keys.length === 1
      ? `The API key ${which} cannot be read and is refused: ${why}`
      : `${keys.length} API keys cannot be read and are refused, such as ${which}: ${why}`
  return new KeyrailError('unreadable_key', `${told}. A newer version of @keyrail/sdk may read it`, {
    retryable: false,
  })
}

/** An answer that the service gave earlier, and that confirms no more than it did then. */
export const cachedAnswer = (why: string): KeyrailError =>
  new KeyrailError(
    'cached_answer',
    `The answer is an old one, as of a cache: ${why}. Let nothing between this node and the service keep answers`,
    { retryable: true },
  )

export const dateBack = (byMs: number): KeyrailError =>
  new KeyrailError(
    'date_back',
    `The Date of the service's answers went back by ${Math.round(byMs / 1_000)} s: a cache gave an old answer, or a clock was set`,
    { retryable: true },
  )

export const versionBack = (from: number, to: number): KeyrailError =>
  new KeyrailError(
    'version_back',
    `The version of the service's policy went back from ${from} to ${to}: its database was restored or failed over, or an old answer was given`,
    { retryable: true },
  )
