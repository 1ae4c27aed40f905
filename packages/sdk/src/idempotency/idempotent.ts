import { isFailedCall } from '../http/breaker.ts'
import {
  type ConnectionOptions,
  type ErrorOptions,
  type OnUnavailable,
  readConnection,
  readOnUnavailable,
  refuseUnknown,
} from '../http/connection-options.ts'
import { isOutage } from '../http/failure.ts'
import { readFunction, readInteger, readProject } from '../http/option-values.ts'
import { type HttpProblem, misusedProblem } from '../http/problem.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { requireValid } from '../verify/require-valid.ts'
import type { Valid } from '../verify/verdict.ts'
import { createIdempotencyClient } from './client.ts'
import { hasMarkedScopes, scopeMarks, scopesHeader } from './executed-scopes.ts'
import { fingerprintOf, type RequestParts, scopeHashOf } from './fingerprint.ts'
import { type ClaimKeeping, HeldClaim } from './held-claim.ts'
import { badKey, cannotClaim, lesserKey, problemOf, unreadable } from './problems.ts'
import { BODY_MAX_BYTES, type StoredAnswer } from './stored-answer.ts'

export interface IdempotencyOptions extends ConnectionOptions, ErrorOptions {
  /** The project that the requests are of: the same `Idempotency-Key` on another API is another request. `KEYRAIL_PROJECT` unless given. */
  projectId?: string | undefined
  /** How long an answer is kept, 24 hours unless given; 60,000 to 604,800,000 ms. */
  ttlMs?: number | undefined
  /** Bytes of an answer that are kept, 4,718,592 unless given, and at most. What is larger is not replayed. */
  maxBodyBytes?: number | undefined
  /** How long a handler may run before its claim is left to whoever asks again, 600,000 ms unless given. */
  maxRunMs?: number | undefined
  /** How long a call of the service may take, 5,000 ms unless given. */
  timeoutMs?: number | undefined
  /**
   * What becomes of a request that cannot be claimed: `deny`, unless given, answers it 503; `allow` executes it, and
   * a repetition of it too, while the service is away. What the service refuses, as with a revoked secret key, is denied.
   */
  onUnavailable?: OnUnavailable | undefined
}

export interface IdempotentRequest extends RequestParts {
  /** Whose request it is. */
  key: Valid
  /** What the customer sent as `Idempotency-Key`: 1 to 255 visible characters. */
  idempotencyKey: string
}

/** What to do with a request. */
export type IdempotencyVerdict =
  /** Run the handler, then say how it ended: `claim.answered`, or `claim.release` where it threw. */
  | { verdict: 'execute'; claim: HeldClaim }
  /** Run the handler: nobody could be asked, and that was chosen to pass. */
  | { verdict: 'unprotected' }
  /** It was done: answer as it was answered. `headers` tell so with `idempotent-replayed`. */
  | { verdict: 'replay'; answer: StoredAnswer }
  /** Answer 400, 403, 409, 422, 503, or 500 where what was handed over is no verdict of a valid key. */
  | { verdict: 'refuse'; problem: HttpProblem }

/** Lets requests be executed once; made by `createIdempotency`. */
export interface Idempotency {
  readonly maxBodyBytes: number
  /** Asks whether a request is to be executed. Never rejects. */
  claim(request: IdempotentRequest): Promise<IdempotencyVerdict>
  /** Waits until it is said of every handler that has ended how it did. */
  close(): Promise<void>
}

/** Longer than anything is waited for. */
const DAYS_MS = 2_000_000_000

const known: { readonly [Name in keyof Required<IdempotencyOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  insecure: true,
  projectId: true,
  ttlMs: true,
  maxBodyBytes: true,
  maxRunMs: true,
  timeoutMs: true,
  onUnavailable: true,
  fetch: true,
  onError: true,
}
export const idempotencyOptionNames = Object.keys(known)

/**
 * Keeps requests of customers from being executed twice.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export const createIdempotency = (options: IdempotencyOptions = {}): Idempotency =>
  openIdempotency(options, { timer: systemTimer, random: Math.random })

/** The same in a world of the caller's making. */
export function openIdempotency(
  options: IdempotencyOptions,
  { timer, random }: { timer: Timer; random: () => number },
): Idempotency {
  refuseUnknown('createIdempotency', options, known)
  const call = readConnection(options)
  const projectId = readProject(options.projectId)
  const { ttlMs } = options
  if (ttlMs !== undefined) readInteger('ttlMs', ttlMs, 60_000, 604_800_000)
  const maxBodyBytes = readInteger('maxBodyBytes', options.maxBodyBytes ?? BODY_MAX_BYTES, 0, BODY_MAX_BYTES)
  const maxRunMs = readInteger('maxRunMs', options.maxRunMs ?? 600_000, 10_000, 86_400_000)
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 5_000, 1, 60_000)
  const onUnavailable = readOnUnavailable(options.onUnavailable ?? 'deny')
  const reports = new Reports({ onError: readFunction('onError', options.onError), onNotice: undefined })
  const client = createIdempotencyClient(call, timeoutMs)
  const keeping: Omit<ClaimKeeping, 'marks'> = {
    client,
    timer,
    random,
    maxRunMs,
    ttlMs,
    onError: error => reports.error(error),
    onSuccess: () => reports.success(),
  }
  const held = new Set<HeldClaim>()

  async function ask({ key, idempotencyKey, ...parts }: IdempotentRequest): Promise<IdempotencyVerdict> {
    const record = { scope_hash: scopeHashOf(projectId, key.tenantId, idempotencyKey), env: key.env }
    const fingerprint = fingerprintOf(parts)
    const said = await client.claim({ ...record, fingerprint, ...(ttlMs !== undefined && { ttl_ms: ttlMs }) })
    if (said.verdict === 'replay') {
      const { [scopesHeader]: marks, ...kept } = said.answer.headers
      if (!hasMarkedScopes(marks, key.scopes)) return { verdict: 'refuse', problem: lesserKey() }
      const headers = { ...kept, 'idempotent-replayed': 'true' }
      return { verdict: 'replay', answer: { ...said.answer, headers } }
    }
    if (said.verdict !== 'execute') return { verdict: 'refuse', problem: problemOf(said) }
    const marks = scopeMarks(key.scopes)
    const claim = new HeldClaim({ ...record, lock_token: said.lockToken }, { ...keeping, marks })
    held.add(claim)
    void claim.settled.then(() => held.delete(claim))
    return { verdict: 'execute', claim }
  }

  return {
    maxBodyBytes,
    async claim(request) {
      if (!/^[\x20-\x7e]{1,255}$/.test(request.idempotencyKey))
        return { verdict: 'refuse', problem: badKey() }
      try {
        requireValid('idempotency.claim', request.key)
        const verdict = await ask(request)
        reports.success()
        return verdict
      } catch (error) {
        if (isFailedCall(error)) reports.error(error instanceof KeyrailError ? error : unreadable())
        if ((error as Partial<KeyrailError>).code === 'misused')
          return { verdict: 'refuse', problem: misusedProblem() }
        return onUnavailable === 'allow' && isOutage(error)
          ? { verdict: 'unprotected' }
          : { verdict: 'refuse', problem: cannotClaim() }
      }
    },
    async close() {
      // What goes on in the background keeps no process alive, and here somebody waits for it.
      const release = timer.after(DAYS_MS, () => {}, true)
      await Promise.all([...held].filter(claim => claim.ended).map(claim => claim.settled))
      release()
    },
  }
}
