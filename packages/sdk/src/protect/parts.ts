import type { Keyring } from '../keyring/keyring.ts'
import type { Limiter } from '../limits/limit.ts'
import { type OfWhole, partOf } from '../runtime/part-of.ts'
import type { UsageReporter } from '../usage/reporter.ts'

/** A keyring, or a `Keyrail`. */
export type KeyringOf = OfWhole<'keys', Pick<Keyring, 'verify'>>
/** A limiter, or a `Keyrail`. */
export type LimiterOf = OfWhole<'limiter', Pick<Limiter, 'limit'>>
/** A usage reporter, or a `Keyrail`. */
export type UsageOf = OfWhole<'usage', Pick<UsageReporter, 'count'>>

/** @throws TypeError if it is none */
export function requireLimiter(given: LimiterOf): Pick<Limiter, 'limit'> {
  const limiter = partOf(given, 'limiter')
  if (typeof limiter?.limit !== 'function') throw new TypeError('limit takes a limiter made by createLimiter')
  return limiter
}
