import { setTimeout as sleep } from 'node:timers/promises'
import type { Service } from '../main.ts'

/** What runs is given this long to end; container engines usually kill after 30 s. */
const drainMsMax = 25_000
/** After connections were cut, a transaction may still be on its way to its end. */
const cutMsMax = 3_000

/**
 * Closes a service: accepts nothing new, lets requests end. When that takes too long, or somebody is in a
 * hurry, connections are cut; the store is closed afterwards in any case, so that nothing half-done is kept.
 * @returns whether every request was answered.
 */
export async function drain(
  service: Pick<Service, 'close' | 'hurry'>,
  hurry: Promise<unknown>,
  limitMs = drainMsMax,
): Promise<'drained' | 'cut'> {
  const closing = service.close().then(() => 'drained' as const)
  const over = new AbortController()
  const limit = (ms: number) => sleep(ms, 'cut' as const, { signal: over.signal }).catch(() => 'cut' as const)
  try {
    const outcome = await Promise.race([closing, hurry.then(() => 'cut' as const), limit(limitMs)])
    if (outcome === 'drained') return outcome
    service.hurry()
    await Promise.race([closing, limit(cutMsMax)])
    return outcome
  } finally {
    over.abort()
  }
}
