import { isFailedCall, withBreaker } from '../http/breaker.ts'
import type { RateLimitCheck } from '../http/call-types.ts'
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
import { explainLacking, isLacking } from '../http/lacking.ts'
import { readInteger, readProject } from '../http/option-values.ts'
import { afterTurn } from '../runtime/after-turn.ts'
import { KeyrailError, lasting } from '../runtime/errors.ts'
import { makeNodeId } from '../runtime/node-id.ts'
import type { Reports } from '../runtime/reports.ts'
import { toWireRateLimits } from '../store/rate-limits.ts'
import { requireValid } from '../verify/require-valid.ts'
import type { Valid } from '../verify/verdict.ts'
import { badAnswer, readAnswer } from './answer.ts'
import { noteAsked } from './asked.ts'
import { awakeNow } from './awake-now.ts'
import type { Ask, BuyerWorld } from './buyer.ts'
import { Charger } from './charger.ts'
import { readCost } from './cost.ts'
import { Denials } from './denials.ts'
import { gatherChecks } from './gather.ts'
import { isolatesRequests } from './isolates-requests.ts'
import { type PrepayOptions, readPrepay, shortMemory } from './prepay.ts'
import { isUnchecked } from './unchecked.ts'
import { type LimitSource, type LimitVerdict, misused, noLimits, unavailable, unchecked } from './verdict.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions extends ConnectionOptions, ErrorOptions {
  /** Id of the project whose counters are charged. Default: `KEYRAIL_PROJECT`. */
  project?: string | undefined
  /** Time limit of a check in ms. Default: 1,000. */
  timeoutMs?: number | undefined
  /**
   * What happens to a request if the service is unavailable: `deny`, the default, answers 503; `allow` lets it pass
   * uncounted. The same holds if the service cannot hold a further counter. If the service refuses the call, as for a
   * revoked secret key, the request is always refused. If the secret key only lacks the permission, requests pass uncounted,
   * and `onError` receives it once.
   */
  onUnavailable?: OnUnavailable | undefined
  /**
   * Charges several units of a limit with one call, and lets later requests pass without one. Never more pass than the limit;
   * units that are left when a window ends are lost. Default: for keys whose limits all have at least 1,000 units a window for
   * each server that checks limits; in workers for none. An object: for all keys. False: each request is asked about.
   */
  prepay?: PrepayOptions | false | undefined
}

/** Options of one check. */
export interface LimitRequirements {
  /** How much the request takes from every limit, 0 to 1,000. Default: 1. 0 checks without taking. */
  cost?: number | undefined
}

/** Charges requests to the limits of their keys; made by `createLimiter`. */
export interface Limiter {
  /** Charges a request to all limits of its key, or to none. Never rejects. */
  limit(key: Valid, requirements?: LimitRequirements): Promise<LimitVerdict>
  /** Counts since the limiter was made. */
  stats(): LimiterStats
}

/** What a limiter has done since it was made. */
export interface LimiterStats {
  /** Calls of the service. */
  calls: number
  /** Requests by what decided them: the `source` of their verdicts. */
  requests: Record<LimitSource, number>
  /** Units for later requests. */
  unitsHeld: number
  /** Units that no request will use: left when their window ended, or lost with an answer. */
  unitsUnused: number
  /** Counters that are known, and denials that are remembered; each at most 10,000. */
  counters: number
}

const known: { readonly [Name in keyof Required<LimiterOptions>]: true } = {
  ...connectionNames,
  project: true,
  timeoutMs: true,
  onUnavailable: true,
  prepay: true,
  onError: true,
}
export const limiterOptionNames = Object.keys(known)

/** For how long the service is not asked again after it answered that the secret key lacks the permission. */
const LACKING_MS = 10_000
const noRules: NonNullable<Valid['rateLimits']> = []

/**
 * Checks limits with one call for the requests of one turn of the event loop, or fewer with `prepay`. A key without limits
 * needs none, and neither does one that was denied and still has nothing left. No check is repeated, because one without an answer
 * may have been charged. While the service hangs, one request at a time calls it, and `onUnavailable` decides for the others at once.
 *
 * @throws TypeError naming a missing or wrong option
 */
export const createLimiter = (options: LimiterOptions = {}): Limiter => openLimiter(options, limiterWorld())

interface LimiterWorld {
  now: () => number
  later?: (work: () => void) => void
  background?: BuyerWorld['background']
  reports?: Reports
}

/** The same for all limiters of a process, which the service counts as one node. Drawn late: workers draw nothing while they load. */
let node: string | undefined
const ownNode = (): string => {
  node ??= makeNodeId()
  return node
}
const atOnce = isolatesRequests() ? undefined : (work: () => void) => work()

export const limiterWorld = () => ({
  now: awakeNow(
    () => performance.now(),
    () => Date.now(),
  ),
})

/** `createLimiter` with the caller's own clock. */
export function openLimiter(
  options: LimiterOptions,
  { now, later = afterTurn, background = atOnce, reports: shared }: LimiterWorld,
): Limiter {
  refuseUnknown('createLimiter', options, known)
  const call = withBreaker(readConnection(options))
  const project = readProject(options.project)
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 1_000, 1, 60_000)
  const onUnavailable = readOnUnavailable(options.onUnavailable ?? 'deny')
  const prepay = readPrepay(options.prepay)
  const reports = shared ?? readReports(options)
  const denials = new Denials(prepay?.denials ?? shortMemory)
  const requests = { service: 0, prepaid: 0, remembered: 0 }
  let calls = 0
  let unitsUnused = 0
  let lackingUntil = Number.NEGATIVE_INFINITY

  const gatherer = gatherChecks({
    call,
    timeoutMs,
    node: prepay?.isAutomatic ? ownNode() : undefined,
    now,
    later,
    onCall() {
      calls += 1
    },
    onSuccess: () => reports.success(),
    onFailure(error) {
      if (isLacking(error)) lackingUntil = now() + LACKING_MS
      if (isFailedCall(error)) reports.error(explainLacking(error, 'limiter'))
      else calls -= 1
    },
  })
  const ask: Ask = async ({ keyId, tenantId, env }, rules, cost) => {
    const answer = await gatherer.ask({
      project_id: project,
      env,
      key_id: keyId,
      tenant_id: tenantId,
      cost,
      // Unchanged: the service checks them, and may know more kinds than this version.
      limits: toWireRateLimits(rules) as unknown as RateLimitCheck['limits'],
    })
    try {
      const read = readAnswer(answer, rules)
      prepay?.noteNodes(env, read.nodes)
      return read
    } catch (error) {
      reports.error(error as KeyrailError)
      throw error
    }
  }
  const passes = (error: unknown) => isLacking(error) || (onUnavailable === 'allow' && isUnchecked(error))
  const onUnused = (units: number) => {
    unitsUnused += units
  }
  const charger = new Charger({ ask, denials, now, background, passes, onUnused }, prepay)

  return {
    async limit(key, requirements = {}) {
      try {
        const cost = readUse(key, requirements)
        const rules = key.rateLimits ?? noRules
        if (rules.length === 0) return noLimits
        noteAsked(key)
        if (now() < lackingUntil) return unchecked
        const verdict = await charger.charge(key, rules, cost)
        if (verdict.source !== undefined) requests[verdict.source] += 1
        return verdict
      } catch (error) {
        // `ask` has reported its own.
        if (!(error instanceof KeyrailError)) reports.error(badAnswer('it cannot be read'))
        if ((error as Partial<KeyrailError>).code === 'misused') {
          reports.error(error as KeyrailError)
          return misused()
        }
        return passes(error) ? unchecked : unavailable()
      }
    },
    stats: () => ({
      calls,
      requests: { ...requests },
      unitsHeld: charger.unitsHeld,
      unitsUnused,
      counters: charger.counters + denials.size,
    }),
  }
}

/**
 * @returns the cost
 * @throws KeyrailError `misused`
 */
function readUse(key: Valid, requirements: LimitRequirements): number {
  requireValid('limiter.limit', key)
  try {
    readRateLimits(key.rateLimits)
    return readRequirements('limiter.limit', requirements)
  } catch (error) {
    throw lasting('misused', (error as TypeError).message)
  }
}

function readRateLimits(rateLimits: unknown): void {
  if (rateLimits !== undefined && rateLimits !== null && !Array.isArray(rateLimits)) {
    throw new TypeError('rateLimits must be an array')
  }
}

const requirementNames: { readonly [Name in keyof Required<LimitRequirements>]: true } = { cost: true }

/**
 * @returns the cost
 * @throws TypeError
 */
export function readRequirements(maker: string, requirements: LimitRequirements): number {
  refuseUnknown(maker, requirements, requirementNames)
  return readCost(requirements.cost)
}
