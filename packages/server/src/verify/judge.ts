import { refusalsByCause, type ServiceVerdict } from '@keyrail/contract/verdicts'
import { judgeAddress } from '../platform/network/judge-address.ts'
import type { FoundKey } from './find-key.ts'

/** What a customer's request needs of its key. */
interface Request {
  readonly scopes: readonly string[]
  /** Where it comes from; null: nobody knows. */
  readonly address: string | null
}

/**
 * Judges a key in the order of the contract, as the SDK does. Limits are charged after that.
 * @param isForm whether form and checksum are those of a key, or the project has keys of any form
 * @param key as the store has it; null: there is none
 */
export function judgeKey(
  text: string,
  isForm: boolean,
  key: Pick<FoundKey, 'cause' | 'isTooOld' | 'networks' | 'scopes'> | null,
  { scopes, address }: Request,
): Exclude<ServiceVerdict, 'rate_limited'> {
  if (text === '') return 'missing_key'
  if (!isForm) return 'malformed_key'
  if (key === null) return 'unknown_key'
  // Of two ends the first is the verdict, because a node has one time for both.
  if (key.isTooOld && (key.cause === null || key.cause === 'expired')) return 'too_old'
  if (key.cause !== null) return refusalsByCause[key.cause]
  const misplaced = judgeAddress(key.networks, address)
  if (misplaced !== null) return misplaced
  return scopes.every(scope => key.scopes.includes(scope)) ? 'valid' : 'insufficient_scope'
}
