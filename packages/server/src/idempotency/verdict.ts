/** A record as a claim found it. Times are milliseconds since 1970 by the store's clock. */
export interface SeenRecord {
  readonly fingerprint: string
  readonly lockToken: string
  readonly lockedUntil: number
  readonly expiresAt: number
  /** Null while its request is executed. */
  readonly status: number | null
  /** Null where the answer was not kept. */
  readonly answerBytes: number | null
}

/** Who asks: what for, and with which token it would hold the record. */
export interface Claimant {
  readonly fingerprint: string
  readonly lockToken: string
}

export type Verdict =
  | { readonly verdict: 'execute'; readonly lockedUntil: number }
  | { readonly verdict: 'in_progress'; readonly retryAfterMs: number }
  | {
      readonly verdict: 'replay'
      readonly status: number
      readonly lockToken: string
      readonly answerBytes: number
    }
  | { readonly verdict: 'mismatch' }
  | { readonly verdict: 'not_replayable'; readonly status: number }

/**
 * What the record says to a claimant; null: nothing that holds, so the claimant may take it. The statement that
 * claims has the same rule as its condition.
 */
export function judge(
  record: SeenRecord | null,
  { fingerprint, lockToken }: Claimant,
  now: number,
): Verdict | null {
  if (record === null) return null
  // Its own: the statement is sent again after an answer that was lost.
  if (record.lockToken === lockToken) return { verdict: 'execute', lockedUntil: record.lockedUntil }
  if (isOver(record, now)) return null
  // First of all, so that who asks for something else learns nothing more.
  if (record.fingerprint !== fingerprint) return { verdict: 'mismatch' }
  const { status, answerBytes } = record
  if (status === null) {
    const retryAfterMs = record.lockedUntil - now
    return retryAfterMs > 0 ? { verdict: 'in_progress', retryAfterMs } : null
  }
  if (answerBytes === null) return { verdict: 'not_replayable', status }
  return { verdict: 'replay', status, lockToken: record.lockToken, answerBytes }
}

/** One that is still executed stays as long as its lock runs, whatever its time to live. */
const isOver = ({ expiresAt, lockedUntil, status }: SeenRecord, now: number): boolean =>
  expiresAt <= now && (status !== null || lockedUntil <= now)
