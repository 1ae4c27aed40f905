import { setTimeout as sleep } from 'node:timers/promises'
import { claimTtlMsDefault } from '@keyrail/contract/claim-rule'
import type {
  ClaimBody,
  ClaimVerdict,
  CompleteVerdict,
  HeartbeatVerdict,
  HeldBody,
  ListedClaimVerdict,
  ReleaseVerdict,
} from '@keyrail/contract/idempotency'
import type { VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { Db } from '../platform/db/db.ts'
import type { ProjectEnv } from '../platform/db/lanes/allowance.ts'
import type { Row } from '../platform/db/lanes/spec.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { type Completion, withoutBody } from './answer.ts'
import { type AnswerRef, answerColumns, type StoredAnswer, toStoredAnswer } from './answers.ts'
import type { Claim } from './claims.ts'
import { type End, type Ending, largeValues, readLarge } from './ends.ts'
import type { IdempotencyNeeds } from './needs.ts'
import type { ReadCompletion } from './read-completion.ts'
import { type Held, keyValues, type RecordKey } from './record.ts'
import type { Idempotency } from './service.ts'
import { completeLargeRecord, lockRecord, readAnswers } from './sql.ts'
import { noProject } from './stored-bytes.ts'

export type HotCall<Body> = Call<VendorPrincipal, unknown, Body>

/** 192 bits, 32 characters. */
const tokenBytes = 24
/** The largest answer that shares a batch with others. A larger one takes a connection of the pool. */
export const laneBytesMax = 65_536
/** The pause between two rounds doubles up to this: a lock on a record mostly lasts no longer than a commit. */
const pauseMsMax = 50

/**
 * Decides which caller executes a request: exactly one of those that claim it at once. No caller waits for another.
 * @param largest the bytes of the largest answer that is replayed; by default all are.
 */
export function claimRecord(deps: IdempotencyNeeds, call: HotCall<ClaimBody>): Promise<ClaimVerdict>
export function claimRecord(
  deps: IdempotencyNeeds,
  call: HotCall<ClaimBody>,
  largest: number,
): Promise<ListedClaimVerdict>
export async function claimRecord(
  { idempotency, randomBytes, countClaim }: IdempotencyNeeds,
  call: HotCall<ClaimBody>,
  largest: number = Number.POSITIVE_INFINITY,
): Promise<ListedClaimVerdict> {
  const { principal, body, deadline } = call
  const claim: Claim = {
    ...keyOf(principal, body),
    fingerprint: body.fingerprint.toLowerCase(),
    lockToken: randomBytes(tokenBytes).toString('base64url'),
    ttlMs: body.ttl_ms ?? claimTtlMsDefault,
  }
  const object = 'idempotency_claim'
  const settled = await untilSettled(deadline, async (): Promise<ListedClaimVerdict | null> => {
    const verdict = await idempotency.claims.run(claim, deadline)
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
        if (answerBytes > largest) return { object, verdict: 'replay_alone' }
        const ref = { ...keyOf(principal, body), lockToken, bytes: answerBytes }
        call.holdBytes(answerBytes)
        const answer =
          answerBytes > laneBytesMax
            ? await readLargeAnswer(call.db, ref)
            : await idempotency.answers.run(ref, deadline)
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
  if (settled.verdict !== 'replay_alone') countClaim(settled.verdict)
  return settled
}

/**
 * Stores the answer of the request. A holder that sends it again changes nothing. If the workspace has no space for the
 * answer, only its status is stored: the request has been executed, so a retry must not be.
 */
export async function completeRecord(
  { idempotency }: IdempotencyNeeds,
  call: HotCall<ReadCompletion>,
): Promise<CompleteVerdict> {
  const { principal, body, deadline } = call
  const held = heldOf(principal, body)
  const { storedBytes } = idempotency
  const place = placeOf(principal, body)
  const hasQuota = body.bytes === null || storedBytes.hasQuota(place, body.bytes)
  const completion: Completion = hasQuota ? body : withoutBody(body)
  const isLarge = (completion.bytes ?? 0) > laneBytesMax
  const { verdict } = isLarge
    ? await completeLarge(call.db, held, completion)
    : await endRecord(idempotency, { ...held, kind: 'complete', completion }, deadline)
  if (verdict === 'completed' && completion.bytes !== null)
    storedBytes.add(place, completion.bytes, completion.ttlMs ?? claimTtlMsDefault)
  return { object: 'idempotency_complete', verdict: verdict === 'completed' ? 'completed' : 'lost' }
}

/** Frees the record, so that a retry is executed. */
export async function releaseRecord(
  { idempotency }: IdempotencyNeeds,
  { principal, body, deadline }: HotCall<HeldBody>,
): Promise<ReleaseVerdict> {
  const { verdict } = await endRecord(idempotency, { ...heldOf(principal, body), kind: 'release' }, deadline)
  return { object: 'idempotency_release', verdict: verdict === 'released' ? 'released' : 'lost' }
}

/** Keeps the record from being taken over while its request is still executed. */
export async function extendLock(
  { idempotency }: IdempotencyNeeds,
  { principal, body, deadline }: HotCall<HeldBody>,
): Promise<HeartbeatVerdict> {
  const ending = await endRecord(idempotency, { ...heldOf(principal, body), kind: 'heartbeat' }, deadline)
  const object = 'idempotency_heartbeat'
  return ending.verdict === 'extended'
    ? { object, verdict: 'extended', lock_expires_at: iso(ending.lockedUntil) }
    : { object, verdict: 'lost' }
}

const endRecord = (idempotency: Idempotency, end: End, deadline: Deadline): Promise<Ending> =>
  untilSettled(deadline, async () => {
    const ending = await idempotency.ends.run(end, deadline)
    return ending.verdict === 'raced' ? null : ending
  })

const keyOf = (
  { workspaceId }: VendorPrincipal,
  { env, scope_hash }: Pick<HeldBody, 'env' | 'scope_hash'>,
): RecordKey => ({ workspaceId, env, scopeHash: scope_hash.toLowerCase() })

/** On whose account an answer is stored. */
const placeOf = (
  { workspaceId, projectIds }: VendorPrincipal,
  { env }: Pick<HeldBody, 'env'>,
): ProjectEnv => ({
  workspaceId,
  env,
  projectId: projectIds?.length === 1 ? (projectIds[0] as string) : noProject,
})

const heldOf = (principal: VendorPrincipal, body: HeldBody): Held => ({
  ...keyOf(principal, body),
  lockToken: body.lock_token,
})

/**
 * Asks again, at growing intervals, while another transaction works on the record.
 * @throws {Refusal} `unavailable` when the caller must be answered before that transaction ends.
 */
async function untilSettled<T>(deadline: Deadline, round: () => Promise<T | null>): Promise<T> {
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    const settled = await round()
    if (settled !== null) return settled
    if (deadline.leftMs() <= pauseMs) throw new Refusal('unavailable')
    await sleep(pauseMs)
  }
}

/** Takes a connection of the pool, where it may wait for the transaction that has locked the record. */
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
