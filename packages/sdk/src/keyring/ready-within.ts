import type { Poller } from '../feed/poller.ts'
import type { Clock } from '../runtime/clock.ts'
import { type KeyrailError, passing } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'

/** Each call waits for its own time. The poller goes on, so that a later call may succeed. */
export async function readyWithin(
  milliseconds: number | undefined,
  poller: Pick<Poller, 'ready' | 'lastError'>,
  { pause: wait = pause }: Clock,
): Promise<void> {
  if (milliseconds === undefined) return poller.ready
  const over = new AbortController()
  const timed = wait(milliseconds, over.signal).then(() => {
    if (!over.signal.aborted) throw notReadyInTime(milliseconds, poller.lastError)
  })
  await Promise.race([poller.ready, timed]).finally(() => over.abort())
}

const notReadyInTime = (milliseconds: number, last: KeyrailError | undefined): KeyrailError =>
  passing(
    'ready_timeout',
    `No keys were loaded within ${milliseconds} ms: ${last?.message ?? 'the service has not answered yet'}`,
  )
