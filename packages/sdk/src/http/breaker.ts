import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { HttpCaller } from './call.ts'

const TIMEOUTS_MAX = 5

/**
 * Limits the wait on a service that hangs. After five calls in a row that timed out, only one call at a time is sent, and
 * the others reject at once. Any answer, and any other error, ends that.
 *
 * @returns a caller that also rejects with `service_hangs`
 */
export function withBreaker(call: HttpCaller): HttpCaller {
  let timeouts = 0
  let isProbing = false
  return async function callUnlessHanging(asked) {
    const isProbe = timeouts >= TIMEOUTS_MAX
    if (isProbe && isProbing) throw serviceHangs()
    if (isProbe) isProbing = true
    try {
      const answer = await call(asked)
      timeouts = 0
      return answer
    } catch (error) {
      timeouts = (error as Partial<KeyrailError>).code === 'timeout' ? timeouts + 1 : 0
      throw error
    } finally {
      if (isProbe) isProbing = false
    }
  }
}

const serviceHangs = (): KeyrailError =>
  passing('service_hangs', 'The service does not answer in time; one call at a time is sent until it does')

/** False for calls that were not sent: the call that probes reports the failure. */
export const isFailedCall = (error: unknown): boolean =>
  (error as Partial<KeyrailError> | undefined)?.code !== 'service_hangs'
