import { isOutage } from '../http/failure.ts'
import { KeyrailError } from '../runtime/errors.ts'

/**
 * Whether a check failed in a way that says nothing about the key: the service was unavailable, or it cannot hold a
 * further counter. `onUnavailable` decides then. A refusal, as for a revoked secret key, is worse than no answer.
 */
export const isUnchecked = (error: unknown): boolean =>
  isOutage(error) || (error instanceof KeyrailError && error.code === 'counter_limit_reached')
