import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '../../main.ts'

/** How long running requests have to end; container engines usually kill after 30 s. */
export const drainMsMax = 25_000
/** After connections are cut, a transaction may still need this long to end. */
const cutMsMax = 3_000

interface Times {
  /** How long the service serves on after it has announced the close. */
  delayMs?: number
  limitMs?: number
}

/**
 * Closes a service: it announces the close and serves on for the delay, then accepts nothing new and lets requests
 * end. If that takes too long, or a second signal comes, it cuts connections. The database is closed afterwards in any
 * case, so that nothing half-done remains.
 * @returns whether every request was answered.
 */
export async function drain(
  service: Pick<Service, 'leave' | 'close' | 'hurry'>,
  hurry: Promise<unknown>,
  { delayMs = 0, limitMs = drainMsMax }: Times = {},
): Promise<'drained' | 'cut'> {
  const over = new AbortController()
  const limit = (ms: number) => sleep(ms, 'cut' as const, { signal: over.signal }).catch(() => 'cut' as const)
  try {
    if (delayMs > 0) {
      service.leave()
      await Promise.race([limit(delayMs), hurry])
    }
    const closing = service.close().then(() => 'drained' as const)
    const outcome = await Promise.race([closing, hurry.then(() => 'cut' as const), limit(limitMs)])
    if (outcome === 'drained') return outcome
    service.hurry()
    await Promise.race([closing, limit(cutMsMax)])
    return outcome
  } finally {
    over.abort()
  }
}
