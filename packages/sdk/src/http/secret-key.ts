import { lasting, passing } from '../runtime/errors.ts'
import { environment, readSecretKeyEnv } from './option-values.ts'

/**
 * A secret key (`krsk_…`), or a function that returns one or a promise of one. The function is called before every call of
 * the service, so it should cache an expensive look-up.
 */
export type SecretKeySource = string | (() => string | Promise<string>)

/**
 * @returns the given value, by default `KEYRAIL_SECRET_KEY`
 * @throws TypeError; it never shows the secret key
 */
export function readSecretKey(value: unknown): SecretKeySource {
  if (typeof value === 'function') return value as () => string
  if (value !== undefined) {
    readSecretKeyEnv(value)
    return value as string
  }
  const set = environment('KEYRAIL_SECRET_KEY')
  if (set === undefined) throw new TypeError('secretKey is not given, and KEYRAIL_SECRET_KEY is not set')
  readSecretKeyEnv(set, 'KEYRAIL_SECRET_KEY')
  return set
}

/** @throws KeyrailError without the original error, because what the vendor's function throws may hold the secret */
export async function currentSecretKey(source: Exclude<SecretKeySource, string>): Promise<string> {
  let secretKey: unknown
  try {
    secretKey = await source()
  } catch {
    throw passing('secret_key_unavailable', 'The function secretKey threw or rejected')
  }
  try {
    readSecretKeyEnv(secretKey, 'The value that the function secretKey returned')
  } catch (error) {
    throw lasting('secret_key_invalid', (error as TypeError).message)
  }
  return secretKey as string
}
