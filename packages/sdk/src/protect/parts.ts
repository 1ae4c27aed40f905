import type { Keyring } from '../keyring/keyring.ts'
import type { Limiter } from '../limits/limit.ts'
import { isWhole, type OfWhole, partOf } from '../runtime/part-of.ts'
import type { UsageReporter } from '../usage/reporter.ts'

/** A keyring, or a `Keyrail`. */
export type KeyringOf = OfWhole<'keys', Pick<Keyring, 'verify'>>
/** A limiter, or a `Keyrail`. */
export type LimiterOf = OfWhole<'limiter', Pick<Limiter, 'limit'>>
/** A usage reporter, or a `Keyrail`. */
export type UsageOf = OfWhole<'usage', Pick<UsageReporter, 'count'>>

/**
 * A part of a guard: the part that the option names; none if the option is false; by default the part of the `Keyrail` that the
 * guard was given.
 */
export function partFor<Name extends 'limiter' | 'usage', Part>(
  name: Name,
  option: OfWhole<Name, Part> | false | undefined,
  given: unknown,
): Part | undefined {
  if (option === false) return undefined
  if (option !== undefined) return partOf(option, name)
  return isWhole(given, name) ? partOf(given as OfWhole<Name, Part>, name) : undefined
}

/** @throws TypeError if the value is no limiter */
export function requireLimiter(given: LimiterOf): Pick<Limiter, 'limit'> {
  const limiter = partOf(given, 'limiter')
  if (typeof limiter?.limit !== 'function') throw new TypeError('limit takes a limiter made by createLimiter')
  return limiter
}
