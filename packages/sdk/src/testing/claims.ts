import { randomUUID } from 'node:crypto'
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

const LOCK_MS = 30_000
const iso = (time: number): string => new Date(time).toISOString()

/** Answers claims, and what becomes of them, as the service does. */
export function answerClaims(now: () => number) {
  const records = new Map<string, ClaimRecord>()
  const nameOf = ({ env, scope_hash }: Pick<HeldBody, 'env' | 'scope_hash'>) => env + scope_hash
  const heldBy = (body: HeldBody): ClaimRecord | undefined => {
    const record = records.get(nameOf(body))
    return record?.lockToken === body.lock_token ? record : undefined
  }
  return {
    'idempotency/claim'(body: ClaimBody): ClaimVerdict {
      const object = 'idempotency_claim'
      const at = now()
      const record = records.get(nameOf(body))
      if (record !== undefined) {
        const { answer, lockedUntil } = record
        const isLocked = answer === undefined && lockedUntil > at
        if (isLocked || record.expiresAt > at) {
          if (record.fingerprint !== body.fingerprint) return { object, verdict: 'mismatch' }
          if (isLocked) return { object, verdict: 'in_progress', retry_after_ms: lockedUntil - at }
          if (answer !== undefined) {
            const { status, headers = {}, body: kept } = answer
            if (typeof kept !== 'string') return { object, verdict: 'not_replayable', status }
            return { object, verdict: 'replay', response: { status, headers, body: kept } }
          }
        }
      }
      const { fingerprint, ttl_ms: ttlMs = 86_400_000 } = body
      const [lockToken, lockedUntil] = [randomUUID(), at + LOCK_MS]
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
      record.lockedUntil = now() + LOCK_MS
      return { object, verdict: 'extended', lock_expires_at: iso(record.lockedUntil) }
    },
  }
}
