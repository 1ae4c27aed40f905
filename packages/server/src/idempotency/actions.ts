import type {
  ClaimBody,
  ClaimVerdict,
  CompleteBody,
  CompleteVerdict,
  HeartbeatVerdict,
  HeldBody,
  ReleaseVerdict,
} from '@keyrail/contract/idempotency'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Db } from '../platform/db/pool.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { type Completion, readCompletion } from './answer.ts'
import { type AnswerRef, answerColumns, type StoredAnswer, toStoredAnswer } from './answers.ts'
import type { Claim } from './claims.ts'
import { type Ending, heldValues, readCompletions } from './ends.ts'
import type { Held, RecordKey } from './record.ts'
import { completeLargeRecord, readAnswers } from './sql.ts'

type HotCall<Body> = Call<VendorPrincipal, unknown, Body>

const ttlMsDefault = 86_400_000
/** 192 bits, 32 characters. */
const tokenBytes = 24
/** What an answer may have to ride with others. A larger one takes a connection of the pool. */
const laneBytesMax = 65_536
/** Each round is lost to somebody else who has done something to the record. */
const mostRounds = 5

/** Tells who is to execute a request: of all who claim it at once, one. Nobody waits for another. */
export async function claimRecord(
  { idempotency, db, randomBytes }: Deps,
  { principal, body, until, holdBytes }: HotCall<ClaimBody>,
): Promise<ClaimVerdict> {
  const claim: Claim = {
    ...keyOf(principal, body),
    fingerprint: body.fingerprint.toLowerCase(),
    lockToken: randomBytes(tokenBytes).toString('base64url'),
    ttlMs: body.ttl_ms ?? ttlMsDefault,
  }
  const object = 'idempotency_claim'
  return await untilSettled(async () => {
    const verdict = await idempotency.claims.run(claim, until)
    switch (verdict?.verdict) {
      case undefined:
        return null
      case 'execute':
        return {
          object,
          verdict: 'execute',
          lock_token: claim.lockToken,
          lock_expires_at: iso(new Date(verdict.lockedUntil)),
        }
      case 'in_progress':
        return { object, verdict: 'in_progress', retry_after_ms: verdict.retryAfterMs }
      case 'replay': {
        const { status, lockToken, answerBytes } = verdict
        const ref = { ...keyOf(principal, body), lockToken, bytes: answerBytes }
        holdBytes(answerBytes)
        const answer =
          answerBytes > laneBytesMax
            ? await readLargeAnswer(db.until(until), ref)
            : await idempotency.answers.run(ref, until)
        if (answer === null) return null
        const { headers } = answer
        return {
          object,
          verdict: 'replay',
          response: { status, headers, body: answer.body.toString('base64') },
        }
      }
      case 'not_replayable':
        return { object, verdict: 'not_replayable', status: verdict.status }
      case 'mismatch':
        return { object, verdict: 'mismatch' }
    }
  })
}

/** Stores the answer of the request. Said again by the one who holds the record, it changes nothing. */
export async function completeRecord(
  { idempotency, db }: Deps,
  { principal, body, until }: HotCall<CompleteBody>,
): Promise<CompleteVerdict> {
  const held = heldOf(principal, body)
  const completion = readCompletion(body)
  const isLarge = (completion.bytes ?? 0) > laneBytesMax
  return await untilSettled(async () => {
    const { verdict } = isLarge
      ? await completeLarge(db.until(until), held, completion)
      : await idempotency.ends.run({ ...held, kind: 'complete', completion }, until)
    if (verdict === 'raced') return null
    return { object: 'idempotency_complete', verdict: verdict === 'completed' ? 'completed' : 'lost' }
  })
}

/** Frees the record, so that a retry is executed. */
export async function releaseRecord(
  { idempotency }: Deps,
  { principal, body, until }: HotCall<HeldBody>,
): Promise<ReleaseVerdict> {
  const ending = await idempotency.ends.run({ ...heldOf(principal, body), kind: 'release' }, until)
  return {
    object: 'idempotency_release',
    verdict: ending.verdict === 'released' ? 'released' : 'lost',
  }
}

/** Keeps the record from being taken over while its request is still executed. */
export async function extendLock(
  { idempotency }: Deps,
  { principal, body, until }: HotCall<HeldBody>,
): Promise<HeartbeatVerdict> {
  const ending = await idempotency.ends.run({ ...heldOf(principal, body), kind: 'heartbeat' }, until)
  const object = 'idempotency_heartbeat'
  return ending.verdict === 'extended'
    ? { object, verdict: 'extended', lock_expires_at: iso(ending.lockedUntil) }
    : { object, verdict: 'lost' }
}

const keyOf = (
  { workspaceId }: VendorPrincipal,
  { env, scope_hash }: Pick<HeldBody, 'env' | 'scope_hash'>,
): RecordKey => ({ workspaceId, env, scopeHash: scope_hash.toLowerCase() })

const heldOf = (principal: VendorPrincipal, body: HeldBody): Held => ({
  ...keyOf(principal, body),
  lockToken: body.lock_token,
})

/** @throws {Refusal} `unavailable` where others are faster again and again. */
async function untilSettled<T>(round: () => Promise<T | null>): Promise<T> {
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    const settled = await round()
    if (settled !== null) return settled
  }
  throw new Refusal('unavailable')
}

const completeLarge = (db: Db, held: Held, { status, ttlMs, bytes, headers, body }: Completion) =>
  db.inWorkspace(held.workspaceId, async (tx): Promise<Ending> => {
    const rows = await tx.query<Record<string, unknown>>(completeLargeRecord, [
      ...heldValues(held),
      status,
      ttlMs,
      bytes,
      headers,
      body,
    ])
    return readCompletions(rows, 1)[0] ?? { verdict: 'lost' }
  })

const readLargeAnswer = (db: Db, ref: AnswerRef) =>
  db.inWorkspace(ref.workspaceId, async (tx): Promise<StoredAnswer | null> => {
    const [row] = await tx.query<Record<string, unknown>>(readAnswers, answerColumns([ref]))
    return row === undefined ? null : toStoredAnswer(row)
  })
