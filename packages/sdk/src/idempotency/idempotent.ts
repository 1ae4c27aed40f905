/** Executes a request once. `held-claim.ts` keeps the claim alive, and `gate.ts` stands before a route. */

import { isFailedCall } from '../http/breaker.ts'
import {
  type ConnectionOptions,
  connectionNames,
  type ErrorOptions,
  type OnUnavailable,
  readConnection,
  readOnUnavailable,
  readReports,
  refuseUnknown,
} from '../http/connection-options.ts'
import { isOutage } from '../http/failure.ts'
import { readInteger, readProject } from '../http/option-values.ts'
import { type HttpProblem, misusedProblem } from '../http/problem.ts'
import { afterTurn } from '../runtime/after-turn.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { requireValid } from '../verify/require-valid.ts'
import type { Valid } from '../verify/verdict.ts'
import { createIdempotencyClient } from './client.ts'
import { isOfExchange } from './exchange-headers.ts'
import { hasMarkedScopes, scopeMarks, scopesHeader } from './executed-scopes.ts'
import { fingerprintOf, type RequestParts, scopeHashOf } from './fingerprint.ts'
import { REQUEST_MAX_BYTES } from './gate.ts'
import { type ClaimKeeping, type HeldClaim, KeptClaim } from './held-claim.ts'
import { badKey, cannotClaim, lesserKey, problemOf, refuse, unreadable } from './problems.ts'
import { BODY_MAX_BYTES, type StoredAnswer } from './stored-answer.ts'

/** Options of `createIdempotency`. */
export interface IdempotencyOptions extends ConnectionOptions, ErrorOptions {
  /** Id of the project. The same `Idempotency-Key` in another project is another request. Default: `KEYRAIL_PROJECT`. */
  project?: string | undefined
  /** How long an answer is kept, 60,000 to 604,800,000 ms. Default: 24 hours. */
  ttlMs?: number | undefined
  /** The largest answer that is kept, in bytes, at most and by default 4,718,592. A larger one is not replayed. */
  maxBodyBytes?: number | undefined
  /**
   * The largest request that is claimed in Fetch handlers, Next and Hono, which read its body for the comparison, in bytes, at most
   * 67,108,864. Default: 1,048,576. On the other frameworks the body parser has its own limit.
   */
  maxRequestBytes?: number | undefined
  /** How long a handler may run before the claim is given up and a retry executes, in ms. Default: 600,000. */
  maxRunMs?: number | undefined
  /** Time limit of a call to the service in ms. Default: 5,000. */
  timeoutMs?: number | undefined
  /**
   * What happens to a request if the service is unavailable: `deny`, the default, answers 503; `allow` executes it and
   * any repetition. If the service refuses the call, as for a revoked secret key, the request is always refused.
   */
  onUnavailable?: OnUnavailable | undefined
}

/** The request to claim. */
export interface IdempotentRequest extends RequestParts {
  /** The verdict of its key. */
  key: Valid
  /** The `Idempotency-Key` header: 1 to 255 printable ASCII characters. */
  idempotencyKey: string
}

/** What to do with a request. */
export type IdempotencyVerdict =
  /** Run the handler. Then call `claim.answered`, or `claim.release` if it threw. */
  | { verdict: 'execute'; claim: HeldClaim }
  /** Run the handler. The service was unavailable, and `onUnavailable` is `allow`. */
  | { verdict: 'unprotected' }
  /** The request was executed before: send its answer. The header `idempotent-replayed` marks it. */
  | { verdict: 'replay'; answer: StoredAnswer }
  /** Send the problem: 400, 403, 409, 422 or 503, or 500 if `key` is not the verdict of a valid key. */
  | { verdict: 'refuse'; problem: HttpProblem }

/** Executes requests once; made by `createIdempotency`. */
export interface Idempotency {
  readonly maxBodyBytes: number
  readonly maxRequestBytes?: number | undefined
  /** Decides whether to execute a request. Never rejects. */
  claim(request: IdempotentRequest): Promise<IdempotencyVerdict>
  /** Waits until the end of every finished handler is reported. */
  close(): Promise<void>
}

/** Longer than any wait. */
const DAYS_MS = 2_000_000_000

const known: { readonly [Name in keyof Required<IdempotencyOptions>]: true } = {
  ...connectionNames,
  project: true,
  ttlMs: true,
  maxBodyBytes: true,
  maxRequestBytes: true,
  maxRunMs: true,
  timeoutMs: true,
  onUnavailable: true,
  onError: true,
}
export const idempotencyOptionNames = Object.keys(known)

/**
 * Prevents customers' requests from being executed twice.
 *
 * @throws TypeError naming a missing or wrong option
 */
export const createIdempotency = (options: IdempotencyOptions = {}): Idempotency =>
  openIdempotency(options, { timer: systemTimer, random: Math.random })

/** `createIdempotency` with the caller's own timer and randomness. */
export function openIdempotency(
  options: IdempotencyOptions,
  {
    timer,
    random,
    now = () => performance.now(),
    later = afterTurn,
  }: { timer: Timer; random: () => number; now?: () => number; later?: (work: () => void) => void },
): Idempotency {
  refuseUnknown('createIdempotency', options, known)
  const call = readConnection(options)
  const project = readProject(options.project)
  const { ttlMs } = options
  if (ttlMs !== undefined) readInteger('ttlMs', ttlMs, 60_000, 604_800_000)
  const maxBodyBytes = readInteger('maxBodyBytes', options.maxBodyBytes ?? BODY_MAX_BYTES, 0, BODY_MAX_BYTES)
  const maxRequestBytes = readInteger(
    'maxRequestBytes',
    options.maxRequestBytes ?? REQUEST_MAX_BYTES,
    0,
    64 * 1024 * 1024,
  )
  const maxRunMs = readInteger('maxRunMs', options.maxRunMs ?? 600_000, 10_000, 86_400_000)
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 5_000, 1, 60_000)
  const onUnavailable = readOnUnavailable(options.onUnavailable ?? 'deny')
  const reports = readReports(options)
  const client = createIdempotencyClient({ call, timeoutMs, now, later })
  const keeping: Omit<ClaimKeeping, 'marks'> = {
    client,
    timer,
    random,
    maxRunMs,
    ttlMs,
    maxBodyBytes,
    onError: error => reports.error(error),
    onSuccess: () => reports.success(),
  }
  const held = new Set<KeptClaim>()

  async function ask({ key, idempotencyKey, ...parts }: IdempotentRequest): Promise<IdempotencyVerdict> {
    const record = { scope_hash: scopeHashOf(project, key.tenantId, idempotencyKey), env: key.env }
    const fingerprint = fingerprintOf(parts)
    const claimed = await client.claim({
      ...record,
      fingerprint,
      ...(ttlMs !== undefined && { ttl_ms: ttlMs }),
    })
    if (claimed.verdict === 'replay') {
      const { [scopesHeader]: marks, ...kept } = claimed.answer.headers
      if (!hasMarkedScopes(marks, key.scopes)) return refuse(lesserKey())
      // A record may be from a version that kept more.
      const own = Object.entries(kept).filter(([name]) => !isOfExchange(name))
      const headers = { ...Object.fromEntries(own), 'idempotent-replayed': 'true' }
      return { verdict: 'replay', answer: { ...claimed.answer, headers } }
    }
    if (claimed.verdict !== 'execute') return refuse(problemOf(claimed))
    const marks = scopeMarks(key.scopes)
    const claim = new KeptClaim({ ...record, lock_token: claimed.lockToken }, { ...keeping, marks })
    held.add(claim)
    void claim.settled.then(() => held.delete(claim))
    return { verdict: 'execute', claim }
  }

  return {
    maxBodyBytes,
    maxRequestBytes,
    async claim(request) {
      if (!/^[\x20-\x7e]{1,255}$/.test(request.idempotencyKey)) return refuse(badKey())
      try {
        requireValid('idempotency.claim', request.key)
        const verdict = await ask(request)
        reports.success()
        return verdict
      } catch (error) {
        if (isFailedCall(error)) reports.error(error instanceof KeyrailError ? error : unreadable())
        if ((error as Partial<KeyrailError>).code === 'misused') return refuse(misusedProblem())
        return onUnavailable === 'allow' && isOutage(error)
          ? { verdict: 'unprotected' }
          : refuse(cannotClaim())
      }
    },
    async close() {
      // Background timers do not keep the process alive, so one that does runs while the caller waits.
      const release = timer.after(DAYS_MS, () => {}, true)
      await Promise.all([...held].filter(claim => claim.ended).map(claim => claim.settled))
      release()
    },
  }
}
