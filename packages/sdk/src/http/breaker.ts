import { type KeyrailError, passing } from '../runtime/errors.ts'
import type { HttpCaller } from './call.ts'

const TIMEOUTS_MAX = 5
/** A call that has not ended this long after its time-out ended with the request of a worker, and never will. */
const LOST_MS = 5_000

/** A caller that knows whether the service hangs. */
export interface BoundedCaller extends HttpCaller {
  /** Whether one call at a time is sent, until the service answers. */
  hangs(): boolean
}

/**
 * Limits the wait on a service that hangs. After five calls in a row that timed out, only one call at a time is sent, and
 * the others reject at once. Any answer, and any other error, ends that.
 *
 * @param now a monotonic clock, in milliseconds
 * @returns a caller that also rejects with `service_hangs`
 */
export function withBreaker(call: HttpCaller, now: () => number = () => performance.now()): BoundedCaller {
  let timeouts = 0
  /** The call that is under way to find out whether the service answers again. */
  let probe: { readonly lostAt: number } | undefined
  const hangs = () => timeouts >= TIMEOUTS_MAX
  const callUnlessHanging: HttpCaller = async asked => {
    const isProbe = hangs()
    if (isProbe && probe !== undefined && now() < probe.lostAt) throw serviceHangs()
    const own = { lostAt: now() + asked.timeoutMs + LOST_MS }
    if (isProbe) probe = own
    try {
      const answer = await call(asked)
      timeouts = 0
      return answer
    } catch (error) {
      timeouts = (error as Partial<KeyrailError>).code === 'timeout' ? timeouts + 1 : 0
      throw error
    } finally {
      if (probe === own) probe = undefined
    }
  }
  return Object.assign(callUnlessHanging, { hangs })
}

const serviceHangs = (): KeyrailError =>
  passing('service_hangs', 'The service does not answer in time; one call at a time is sent until it does')

/** False for calls that were not sent: the call that probes reports the failure. */
export const isFailedCall = (error: unknown): boolean =>
  (error as Partial<KeyrailError> | undefined)?.code !== 'service_hangs'
