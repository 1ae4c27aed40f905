/** The rule by which idempotency records are claimed. The service and the SDK's testing double both judge by it. */

/** How long a claim is locked for its holder, from the claim or the last heartbeat. */
export const claimLockMs = 30_000
/** How long a record lives unless its holder says otherwise. */
export const claimTtlMsDefault = 86_400_000

/** A record as a claim finds it. Times are milliseconds since 1970 by one clock. */
export interface FoundClaim {
  readonly fingerprint: string
  readonly lockedUntil: number
  readonly expiresAt: number
  /** Null while its request is executed. */
  readonly status: number | null
  /** Whether the answer was kept. */
  readonly hasAnswer: boolean
}

export type ClaimState = 'free' | 'mismatch' | 'in_progress' | 'not_replayable' | 'replay'

/** What a record means to a client that claims it with this fingerprint and does not hold it. */
export function claimState(found: FoundClaim, fingerprint: string, now: number): ClaimState {
  const isUnderWay = found.status === null
  const isLocked = isUnderWay && found.lockedUntil > now
  // A record that is still being executed stays while its lock lasts, whatever its TTL.
  if (found.expiresAt <= now && !isLocked) return 'free'
  // First, so that a client with another request learns nothing else.
  if (found.fingerprint !== fingerprint) return 'mismatch'
  if (isUnderWay) return isLocked ? 'in_progress' : 'free'
  return found.hasAnswer ? 'replay' : 'not_replayable'
}
