import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean, readFunction } from '../http/option-values.ts'
import type { HttpProblem } from '../http/problem.ts'
import type { IdempotencyCode } from '../idempotency/problems.ts'
import { readCost } from '../limits/cost.ts'
import type { Limiter } from '../limits/limit.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import type { RefusalCode, Valid } from '../verify/verdict.ts'
import { type LimiterOf, partFor, type UsageOf } from './parts.ts'

/** The codes of a verdict. `internal_error`: your own code is wrong, and a warning or `onError` names the fault. */
export type GateCode =
  | 'valid'
  | 'no_key'
  | RefusalCode
  | 'rate_limited'
  | 'limits_unavailable'
  | IdempotencyCode
  | 'internal_error'

/** The verdict on a request, for metrics and logs. Holds no secret. */
export interface GateVerdict {
  /** Whether the request passed. */
  passed: boolean
  /** `valid`; `no_key` if none was sent where it is optional; or the code of the refusal. */
  code: GateCode
  /** The verdict of the key, if it is valid. */
  key: Valid | undefined
  /** The gate let the request pass, and later middleware refused it. Absent otherwise. */
  later?: true
}

/** The answer in place of a refusal. An absent field keeps its value. */
export interface RefusalShape {
  /** 400 to 599. */
  status?: number | undefined
  /** Added to those of the refusal; the same name replaces its value. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON, with `application/json` unless `headers` name another type. */
  body?: object | undefined
}

/** Options of every framework's protection. `Request` is the request that the framework passes to a route. */
export interface GateOptions<Request = unknown> {
  /** Scopes that the key must all have. */
  scopes?: readonly string[] | undefined
  /**
   * The header, or headers, with the key. `authorization`, the default, holds `Bearer <key>`, any other the bare key. The
   * first header in this list with a key counts.
   */
  header?: string | readonly string[] | undefined
  /** Finds the key in place of `header`. Null, undefined and '' mean no key. If it throws, the answer is 500. */
  getKey?: ((request: Request) => string | null | undefined | Promise<string | null | undefined>) | undefined
  /**
   * Finds the address of the caller, without a port, in place of the one that the framework knows. Undefined and null mean that it
   * is not known: a key that is restricted to networks is then refused as `ip_unknown`. If it throws, the answer is 500.
   */
  getIp?: ((request: Request) => string | null | undefined | Promise<string | null | undefined>) | undefined
  /**
   * Lets requests without a key pass, where nothing is demanded of the key: no scopes, no limits, no execution once. A key
   * that is sent is still checked.
   */
  optional?: boolean | undefined
  /**
   * Returns another answer for a refusal; undefined keeps it. `problem.body.code` is the reason. If it throws, or returns a
   * promise or an invalid answer, the refusal stays, and a process warning reports it. It cannot let a request pass.
   */
  onRefused?: ((problem: HttpProblem, request: Request) => RefusalShape | undefined) | undefined
  /**
   * Receives one verdict on every request, and, with `later`, each refusal by later middleware. An error that it throws is only reported.
   */
  onVerdict?: ((verdict: GateVerdict, request: Request) => void) | undefined
  /**
   * Charges each request to the limits of its key, so each request needs one. Default: that of a `Keyrail` given as keyring,
   * for requests with a key. False: no limits are charged.
   */
  limiter?: LimiterOf | false | undefined
  /** Counts each request that passes. Default: that of a `Keyrail` given as keyring. False: none is counted. */
  usage?: UsageOf | false | undefined
}

/** Options of one route, beside those of the protection. */
export interface RouteRequirements {
  scopes?: readonly string[] | undefined
  /** How much a request takes from every limit, 0 to 1,000. Default: 1. Needs `limiter`. */
  cost?: number | undefined
  /** Lets requests without a key pass on this route, where nothing is demanded of the key. */
  optional?: boolean | undefined
}

export const gateOptionNames: { readonly [Name in keyof Required<GateOptions>]: true } = {
  scopes: true,
  header: true,
  getKey: true,
  getIp: true,
  optional: true,
  onRefused: true,
  onVerdict: true,
  limiter: true,
  usage: true,
}

/** The options, read and completed; `headers` in lower case. */
export interface GateSettings<Request>
  extends Pick<GateOptions<Request>, 'getKey' | 'getIp' | 'onRefused' | 'onVerdict'> {
  limiter: Pick<Limiter, 'limit'> | undefined
  /** Whether the vendor named the limiter, which demands a key of every request. */
  demandsLimits: boolean
  /** Whether limits are neither charged nor turned off. */
  ignoresLimits: boolean
  usage: Pick<UsageReporter, 'count'> | undefined
  scopes: readonly string[]
  headers: readonly string[]
  optional: boolean
}

/**
 * @param maker the name of the calling function, for errors
 * @param given the keyring, or a `Keyrail`
 * @throws TypeError naming the wrong option
 */
export function readGateOptions<Request>(
  maker: string,
  given: unknown,
  options: GateOptions<Request>,
): GateSettings<Request> {
  refuseUnknown(maker, options, gateOptionNames)
  const { scopes, header, getKey, getIp, optional = false, onRefused, onVerdict } = options
  const limiter: Pick<Limiter, 'limit'> | undefined = partFor('limiter', options.limiter, given)
  const usage: Pick<UsageReporter, 'count'> | undefined = partFor('usage', options.usage, given)
  if (limiter !== undefined && typeof limiter.limit !== 'function') {
    throw new TypeError('limiter must be made by createLimiter')
  }
  if (usage !== undefined && typeof usage.count !== 'function') {
    throw new TypeError('usage must be made by createUsageReporter')
  }
  if (getKey !== undefined && header !== undefined) throw new TypeError('give getKey or header, not both')
  readFunction('getKey', getKey)
  readFunction('getIp', getIp)
  readFunction('onRefused', onRefused)
  readFunction('onVerdict', onVerdict)
  readBoolean('optional', optional)
  const headers = readHeaderNames(header)
  return {
    scopes: demandedScopes(scopes),
    headers,
    getKey,
    getIp,
    optional,
    onRefused,
    onVerdict,
    limiter,
    demandsLimits: limiter !== undefined && options.limiter !== undefined,
    ignoresLimits: limiter === undefined && options.limiter !== false,
    usage,
  }
}

/**
 * Checks the options of a route by themselves; a gate also checks whether it can meet them.
 *
 * @throws TypeError
 */
export function readRoute({ scopes, cost, optional = false }: RouteRequirements): void {
  demandedScopes(scopes)
  readCost(cost)
  readBoolean('optional', optional)
}

/** An empty list is a mistake: it would open a route that its author meant to close. */
function demandedScopes(scopes: readonly string[] | undefined): readonly string[] {
  if (scopes === undefined) return []
  if (scopes.length === 0) throw new TypeError('scopes must name at least one scope, or be left out')
  return readScopes(scopes)
}

export function readScopes(scopes: readonly string[]): readonly string[] {
  if (!Array.isArray(scopes) || !scopes.every(scope => typeof scope === 'string' && scope !== '')) {
    throw new TypeError('scopes must be an array of scope names')
  }
  return Object.freeze([...scopes])
}

function readHeaderNames(header: string | readonly string[] = 'authorization'): readonly string[] {
  const names: readonly unknown[] = Array.isArray(header) ? header : [header]
  if (names.length === 0 || !names.every(name => typeof name === 'string' && /^[\w-]+$/.test(name))) {
    throw new TypeError('header must be a header name, or an array of them')
  }
  return names.map(name => (name as string).toLowerCase())
}
