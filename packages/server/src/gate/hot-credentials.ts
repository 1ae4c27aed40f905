import { LRUCache } from 'lru-cache'
import type { Clock } from '../platform/clock.ts'
import type { Hints } from '../platform/db/hints.ts'
import type { FindCredential, SecretKeyRecord } from './lookup.ts'

/** What is announced when a secret key was rotated or revoked. */
export const credentialsTopic = 'credentials'

/** Records of secret keys, about 300 bytes each. */
const mostKept = 10_000

export interface HotCredentials extends FindCredential {
  close(): void
}

/**
 * Reuses what was found of a secret key for a few seconds, on the paths that are asked once per request of a vendor's
 * customers: the only cache of a credential that there is. An entry counts from the moment its look-up began, so that a
 * key revoked after it is refused at latest `cacheMs` later, and at once where the hint of it arrives. A look-up that
 * was under way when anything was revoked is not kept, however late it answers.
 *
 * @param cacheMs 0: every request is looked up.
 */
export function openHotCredentials(
  find: FindCredential,
  cacheMs: number,
  clock: Clock,
  hints: Pick<Hints, 'listen'>,
): HotCredentials {
  if (cacheMs === 0) return { run: (digest, until) => find.run(digest, until), close() {} }
  const kept = new LRUCache<string, SecretKeyRecord & { reusableUntil: number }>({ max: mostKept })
  let generation = 0
  const stop = hints.listen(credentialsTopic, () => {
    generation += 1
    kept.clear()
  })
  return {
    async run(digest, until) {
      const name = digest.toString('latin1')
      const now = clock.monotonic()
      const known = kept.get(name)
      if (known !== undefined && now < known.reusableUntil) return known
      const begun = generation
      const record = await find.run(digest, until)
      if (!record?.active) return record
      const found = { ...record, reusableUntil: now + Math.min(cacheMs, record.endsInMs ?? cacheMs) }
      // Its use was noted with the first request that found it.
      if (begun === generation) kept.set(name, { ...found, stale: false })
      return found
    },
    close: stop,
  }
}
