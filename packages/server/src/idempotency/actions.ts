import { setTimeout as sleep } from 'node:timers/promises'
import type {
  ClaimBody,
  ClaimVerdict,
  CompleteVerdict,
  HeartbeatVerdict,
  HeldBody,
  ReleaseVerdict,
} from '@keyrail/contract/idempotency'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Row } from '../platform/db/lane.ts'
import type { Db } from '../platform/db/pool.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { type Completion, withoutBody } from './answer.ts'
import { type AnswerRef, answerColumns, type StoredAnswer, toStoredAnswer } from './answers.ts'
import type { Claim } from './claims.ts'
import { type End, type Ending, largeValues, readLarge } from './ends.ts'
import type { ReadCompletion } from './read-completion.ts'
import { type Held, keyValues, type RecordKey } from './record.ts'
import type { Idempotency } from './service.ts'
import { completeLargeRecord, lockRecord, readAnswers } from './sql.ts'

type HotCall<Body> = Call<VendorPrincipal, unknown, Body>

const ttlMsDefault = 86_400_000
/** 192 bits, 32 characters. */
const tokenBytes = 24
/** What an answer may have to ride with others. A larger one takes a connection of the pool. */
const laneBytesMax = 65_536
/** Between two rounds the pause doubles up to this: whoever has locked a record mostly lets go within a commit. */
const pauseMsMax = 50

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
  return await untilSettled(until, async () => {
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

/**
 * Stores the answer of the request. Said again by the one who holds the record, it changes nothing. Where the workspace has
 * no room for the answer, its status alone is stored: the request has been executed, so a retry must not be.
 */
export async function completeRecord(
  { idempotency, db }: Deps,
  { principal, body, until }: HotCall<ReadCompletion>,
): Promise<CompleteVerdict> {
  const held = heldOf(principal, body)
  const { storedBytes } = idempotency
  const hasRoom = body.bytes === null || storedBytes.hasRoom(principal.workspaceId, body.bytes)
  const completion: Completion = hasRoom ? body : withoutBody(body)
  const isLarge = (completion.bytes ?? 0) > laneBytesMax
  const { verdict } = isLarge
    ? await completeLarge(db.until(until), held, completion)
    : await endRecord(idempotency, { ...held, kind: 'complete', completion }, until)
  if (verdict === 'completed' && completion.bytes !== null)
    storedBytes.add(principal.workspaceId, completion.bytes, completion.ttlMs ?? ttlMsDefault)
  return { object: 'idempotency_complete', verdict: verdict === 'completed' ? 'completed' : 'lost' }
}

/** Frees the record, so that a retry is executed. */
export async function releaseRecord(
  { idempotency }: Deps,
  { principal, body, until }: HotCall<HeldBody>,
): Promise<ReleaseVerdict> {
  const { verdict } = await endRecord(idempotency, { ...heldOf(principal, body), kind: 'release' }, until)
  return { object: 'idempotency_release', verdict: verdict === 'released' ? 'released' : 'lost' }
}

/** Keeps the record from being taken over while its request is still executed. */
export async function extendLock(
  { idempotency }: Deps,
  { principal, body, until }: HotCall<HeldBody>,
): Promise<HeartbeatVerdict> {
  const ending = await endRecord(idempotency, { ...heldOf(principal, body), kind: 'heartbeat' }, until)
  const object = 'idempotency_heartbeat'
  return ending.verdict === 'extended'
    ? { object, verdict: 'extended', lock_expires_at: iso(ending.lockedUntil) }
    : { object, verdict: 'lost' }
}

const endRecord = (idempotency: Idempotency, end: End, until: number): Promise<Ending> =>
  untilSettled(until, async () => {
    const ending = await idempotency.ends.run(end, until)
    return ending.verdict === 'raced' ? null : ending
  })

const keyOf = (
  { workspaceId }: VendorPrincipal,
  { env, scope_hash }: Pick<HeldBody, 'env' | 'scope_hash'>,
): RecordKey => ({ workspaceId, env, scopeHash: scope_hash.toLowerCase() })

const heldOf = (principal: VendorPrincipal, body: HeldBody): Held => ({
  ...keyOf(principal, body),
  lockToken: body.lock_token,
})

/**
 * Asks again, soon and then less soon, while somebody else is at the record.
 * @throws {Refusal} `unavailable` when the caller must be answered before they are done.
 */
async function untilSettled<T>(until: number, round: () => Promise<T | null>): Promise<T> {
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    const settled = await round()
    if (settled !== null) return settled
    if (performance.now() + pauseMs >= until) throw new Refusal('unavailable')
    await sleep(pauseMs)
  }
}

/** On a connection of its own, where it may wait for whoever has locked the record. */
const completeLarge = (db: Db, held: Held, completion: Completion) =>
  db.inWorkspace(held.workspaceId, async (tx): Promise<Ending> => {
    tx.send(lockRecord, keyValues(held))
    return readLarge(await tx.query<Row>(completeLargeRecord, largeValues(held, completion)))
  })

const readLargeAnswer = (db: Db, ref: AnswerRef) =>
  db.inWorkspace(ref.workspaceId, async (tx): Promise<StoredAnswer | null> => {
    const [row] = await tx.query<Row>(readAnswers, answerColumns([ref]))
    return row === undefined ? null : toStoredAnswer(row)
  })
