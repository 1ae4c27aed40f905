import type { Clock } from '../platform/clock.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'
import type { Hints } from '../platform/db/listen/hints.ts'
import type { FindCredential, SecretKeyRecord } from './lookup.ts'

/** The topic that announces rotated and revoked secret keys. */
export const credentialsTopic = 'credentials'

/** Records of secret keys, about 300 bytes each. */
const mostKept = 10_000

export interface HotCredentials extends FindCredential {
  /** A record that is kept and may still be reused; null: `run` has to find it. */
  known(digest: Buffer): SecretKeyRecord | null
  close(): void
}

/**
 * Caches records of secret keys for a few seconds, on the routes that are called with each request of a vendor's customer.
 * It is the only cache of credentials. An entry counts from the start of its look-up, so a key revoked after that is
 * refused at most `cacheMs` later, or at once when the hint of the revocation arrives. A look-up that was running when any
 * key was revoked is not cached, however late it ends.
 *
 * @param cacheMs 0: every request is looked up.
 */
export function openHotCredentials(
  find: FindCredential,
  cacheMs: number,
  clock: Clock,
  hints: Pick<Hints, 'listen'>,
): HotCredentials {
  if (cacheMs === 0)
    return { run: (digest, deadline) => find.run(digest, deadline), known: () => null, close() {} }
  const kept = recentlyUsed<SecretKeyRecord & { reusableUntil: number }>(mostKept)
  let generation = 0
  const stop = hints.listen(credentialsTopic, () => {
    generation += 1
    kept.clear()
  })
  const known: HotCredentials['known'] = digest => {
    const record = kept.get(digest.toString('latin1'))
    return record !== undefined && clock.monotonic() < record.reusableUntil ? record : null
  }
  return {
    known,
    async run(digest, deadline) {
      const name = digest.toString('latin1')
      const now = clock.monotonic()
      const before = known(digest)
      if (before !== null) return before
      const begun = generation
      const record = await find.run(digest, deadline)
      if (!record?.active) return record
      const found = { ...record, reusableUntil: now + Math.min(cacheMs, record.endsInMs ?? cacheMs) }
      // The use was recorded with the request that looked the key up.
      if (begun === generation) kept.set(name, { ...found, stale: false })
      return found
    },
    close: stop,
  }
}
