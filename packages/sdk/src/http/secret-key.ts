import { KeyrailError } from '../runtime/errors.ts'
import { environment, readSecretKeyEnv } from './option-values.ts'

/**
 * A secret key (`krsk_…`), or a function that returns the one of now, also by a promise. It is called before every call of the
 * service, so it should keep what is costly to fetch.
 */
export type SecretKeySource = string | (() => string | Promise<string>)

/**
 * @returns what is given, or else `KEYRAIL_SECRET_KEY`
 * @throws TypeError that never shows the secret key
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

/** @throws KeyrailError: what a function of the vendor threw may hold the secret, so it is not passed on */
export async function currentSecretKey(source: Exclude<SecretKeySource, string>): Promise<string> {
  let secretKey: unknown
  try {
    secretKey = await source()
  } catch {
    throw new KeyrailError('secret_key_unavailable', 'The function secretKey threw or rejected', {
      retryable: true,
    })
  }
  try {
    readSecretKeyEnv(secretKey, 'What the function secretKey returned')
  } catch (error) {
    throw new KeyrailError('secret_key_invalid', (error as TypeError).message, { retryable: false })
  }
  return secretKey as string
}
