import { refusalsByCause, type ServiceVerdict } from '@keyrail/contract/verdicts'
import type { FoundKey } from './find-key.ts'

/**
 * Judges a key in the order of the contract, as the SDK does. Limits are charged after that.
 * @param isForm whether form and checksum are those of a key
 * @param key as the store has it; null: there is none
 */
export function judgeKey(
  text: string,
  isForm: boolean,
  key: Pick<FoundKey, 'cause' | 'scopes'> | null,
  required: readonly string[],
): Exclude<ServiceVerdict, 'rate_limited'> {
  if (text === '') return 'missing_key'
  if (!isForm) return 'malformed_key'
  if (key === null) return 'unknown_key'
  if (key.cause !== null) return refusalsByCause[key.cause]
  return required.every(scope => key.scopes.includes(scope)) ? 'valid' : 'insufficient_scope'
}
