import type { Key } from '@keyrail/contract/vendor/keys'
import { sightOf, type VendorPrincipal } from '../gate/principal.ts'
import type { Clock } from '../platform/clock.ts'
import { tokenDigest } from '../platform/crypto/token.ts'
import type { Db } from '../platform/db/db.ts'
import { recentlyUsed } from '../platform/recently-used.ts'
import { Refusal } from '../platform/refusal.ts'
import { toKey } from './resource.ts'
import { findKeyByDigest } from './sql.ts'

/** How many keys a credential can identify in a minute, in one process: enough for people, and no check of live traffic. */
export const identifiedAMinute = 60
const windowMs = 60_000

/** Credentials that are remembered, about 150 bytes each. */
const credentialsMax = 50_000

/** Counts what each credential identifies, a minute at a time. */
export interface IdentifyTurns {
  /** @throws {Refusal} `too_many_requests` when the minute is used up. */
  take(principal: VendorPrincipal): void
}

export function createIdentifyTurns(clock: Clock): IdentifyTurns {
  const windows = recentlyUsed<{ readonly until: number; taken: number }>(credentialsMax)
  return {
    take({ kind, id, sessionId }) {
      const credential = `${kind} ${sessionId ?? id}`
      const now = clock.monotonic()
      const known = windows.get(credential)
      const window = known !== undefined && now < known.until ? known : { until: now + windowMs, taken: 0 }
      if (window !== known) windows.set(credential, window)
      if (window.taken >= identifiedAMinute) {
        const seconds = Math.ceil((window.until - now) / 1_000)
        throw new Refusal(
          'too_many_requests',
          `A credential can identify ${identifiedAMinute} keys a minute. To verify keys, use the policy feed.`,
          { headers: { 'retry-after': String(seconds) } },
        )
      }
      window.taken += 1
    },
  }
}

/**
 * Finds a key by the key itself, whatever its status. Every text is looked up in the same way, so that a malformed, a foreign
 * and an unknown key get the same answer.
 */
export async function identifyKey(
  { identifyTurns }: { readonly identifyTurns: IdentifyTurns },
  db: Db,
  principal: VendorPrincipal,
  key: string,
): Promise<Key> {
  identifyTurns.take(principal)
  const digest = tokenDigest(key)
  const row = await db.inWorkspace(principal.workspaceId, tx =>
    findKeyByDigest(tx, digest, sightOf(principal)),
  )
  if (row === null) throw new Refusal('not_found')
  return toKey(row)
}
