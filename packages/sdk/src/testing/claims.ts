import { randomUUID } from 'node:crypto'
import { claimLockMs, claimState, claimTtlMsDefault } from '@keyrail/contract/claim-rule'
import type {
  ClaimBody,
  ClaimVerdict,
  CompleteBody,
  CompleteVerdict,
  HeartbeatVerdict,
  HeldBody,
  ReleaseVerdict,
} from '../http/call-types.ts'

interface ClaimRecord {
  fingerprint: string
  lockToken: string
  lockedUntil: number
  ttlMs: number
  expiresAt: number
  answer?: Pick<CompleteBody, 'status' | 'headers' | 'body'>
}

const iso = (time: number): string => new Date(time).toISOString()

/** Answers the idempotency calls as the service does. */
export function answerClaims(now: () => number) {
  const records = new Map<string, ClaimRecord>()
  const nameOf = ({ env, scope_hash }: Pick<HeldBody, 'env' | 'scope_hash'>) => env + scope_hash
  const heldBy = (body: HeldBody): ClaimRecord | undefined => {
    const record = records.get(nameOf(body))
    return record?.lockToken === body.lock_token ? record : undefined
  }
  const answers = {
    'idempotency/claims': ({ calls }: { calls: readonly Readonly<Record<string, never>>[] }) => ({
      object: 'idempotency_calls',
      calls: calls.map(call => {
        const [[name, body] = []] = Object.entries(call)
        return answers[`idempotency/${name}` as 'idempotency/claim'](body as never)
      }),
    }),
    'idempotency/claim'(body: ClaimBody): ClaimVerdict {
      const object = 'idempotency_claim'
      const at = now()
      const record = records.get(nameOf(body))
      const verdict = record === undefined ? null : verdictOf(record, body.fingerprint, at)
      if (verdict !== null) return { object, ...verdict }
      const { fingerprint, ttl_ms: ttlMs = claimTtlMsDefault } = body
      const [lockToken, lockedUntil] = [randomUUID(), at + claimLockMs]
      records.set(nameOf(body), { fingerprint, lockToken, lockedUntil, ttlMs, expiresAt: at + ttlMs })
      return { object, verdict: 'execute', lock_token: lockToken, lock_expires_at: iso(lockedUntil) }
    },
    'idempotency/complete'(body: CompleteBody): CompleteVerdict {
      const record = heldBy(body)
      if (record !== undefined && record.answer === undefined) {
        record.answer = body
        record.expiresAt = now() + (body.ttl_ms ?? record.ttlMs)
      }
      return { object: 'idempotency_complete', verdict: record === undefined ? 'lost' : 'completed' }
    },
    'idempotency/release'(body: HeldBody): ReleaseVerdict {
      const record = heldBy(body)
      const isHeld = record !== undefined && record.answer === undefined
      if (isHeld) records.delete(nameOf(body))
      return { object: 'idempotency_release', verdict: isHeld ? 'released' : 'lost' }
    },
    'idempotency/heartbeat'(body: HeldBody): HeartbeatVerdict {
      const object = 'idempotency_heartbeat'
      const record = heldBy(body)
      if (record === undefined || record.answer !== undefined) return { object, verdict: 'lost' }
      record.lockedUntil = now() + claimLockMs
      return { object, verdict: 'extended', lock_expires_at: iso(record.lockedUntil) }
    },
  }
  return answers
}

/** What a record says to somebody who does not hold it; null: it is free. */
function verdictOf({ answer, ...record }: ClaimRecord, fingerprint: string, at: number) {
  const { status = null, headers = {}, body } = answer ?? {}
  const hasAnswer = typeof body === 'string'
  const state = claimState({ ...record, status, hasAnswer }, fingerprint, at)
  if (state === 'mismatch') return { verdict: state }
  if (state === 'in_progress') return { verdict: state, retry_after_ms: record.lockedUntil - at }
  if (state === 'free' || status === null) return null
  return hasAnswer
    ? { verdict: 'replay' as const, response: { status, headers, body } }
    : { verdict: 'not_replayable' as const, status }
}
