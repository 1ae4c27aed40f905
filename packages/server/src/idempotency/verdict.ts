import { claimState } from '@keyrail/contract/claim-rule'

/** A record as a claim finds it. Times are milliseconds since 1970 by the store's clock. */
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

/** A claim, as far as the rule reads it: the request that it is for, and the token with which it would hold the record. */
export interface Claimant {
  readonly fingerprint: string
  readonly lockToken: string
}

/** Every verdict of a claim. */
export const claimVerdicts = ['execute', 'in_progress', 'replay', 'mismatch', 'not_replayable'] as const

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
 * Judges a claim by the record that it finds; null: the claim may take the record. The statement that claims has the same
 * rule as its condition (`mayBeTaken` in sql.ts).
 */
export function judge(
  record: SeenRecord | null,
  { fingerprint, lockToken }: Claimant,
  now: number,
): Verdict | null {
  if (record === null) return null
  // The claim has won before: its statement was sent again after the connection was lost.
  if (record.lockToken === lockToken) return { verdict: 'execute', lockedUntil: record.lockedUntil }
  const { status, lockedUntil, answerBytes } = record
  switch (claimState({ ...record, hasAnswer: answerBytes !== null }, fingerprint, now)) {
    case 'free':
      return null
    case 'mismatch':
      return { verdict: 'mismatch' }
    case 'in_progress':
      return { verdict: 'in_progress', retryAfterMs: lockedUntil - now }
    case 'not_replayable':
      return { verdict: 'not_replayable', status: Number(status) }
    case 'replay':
      return {
        verdict: 'replay',
        status: Number(status),
        lockToken: record.lockToken,
        answerBytes: Number(answerBytes),
      }
  }
}
