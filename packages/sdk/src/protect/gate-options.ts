import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean, readFunction } from '../http/option-values.ts'
import type { HttpProblem } from '../http/problem.ts'
import { readCost } from '../limits/cost.ts'
import type { Limiter } from '../limits/limit.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import type { Valid } from '../verify/verdict.ts'

/** What became of a request, for metrics and logs. Holds no secret. */
export interface GateVerdict {
  /** Whether it was let pass here. */
  passed: boolean
  /** `valid`; `no_key` where a key is optional and none was sent; or the code of the refusal, such as `rate_limited`. */
  code: string
  /** Whose request it is, where the key is valid. */
  key: Valid | undefined
}

/** What is answered in place of a refusal; what is absent stays as it was. */
export interface RefusalShape {
  /** 400 to 599. */
  status?: number | undefined
  /** Beside those of the refusal, or in their place. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON, `application/json` unless `headers` say otherwise. */
  body?: object | undefined
}

/** What every framework's protection takes. `Request` is what the framework hands to a route. */
export interface GateOptions<Request = unknown> {
  /** Scopes that the key must have, all of them. */
  scopes?: readonly string[] | undefined
  /**
   * Where the key is: `authorization` (as `Bearer <key>`) unless given, else a header with the bare key. Of several
   * headers the first in this list that holds a key counts.
   */
  header?: string | readonly string[] | undefined
  /** Finds the key in place of `header`. Null, undefined and '' are no key; what it throws is a 500. */
  getKey?: ((request: Request) => string | null | undefined | Promise<string | null | undefined>) | undefined
  /** Lets requests without a key pass, with no key to tell. A key that is sent is judged all the same. */
  optional?: boolean | undefined
  /**
   * Gives a refusal another shape. `problem.body.code` says why, and undefined leaves it as it is; so does a mistake, of which
   * a process warning tells. It cannot let a request pass.
   */
  onRefused?: ((problem: HttpProblem, request: Request) => RefusalShape | undefined) | undefined
  /**
   * Told of every request when it was judged, and of each refusal behind that. What it throws stops nothing.
   */
  onVerdict?: ((verdict: GateVerdict, request: Request) => void) | undefined
  /** Charges each request to the limits of its key. */
  limiter?: Limiter | undefined
  /** Counts each request that is let pass. */
  usage?: Pick<UsageReporter, 'count'> | undefined
}

/** What one route asks beyond that. */
export interface RouteRequirements {
  scopes?: readonly string[] | undefined
  /** What a request takes of every limit, 0 to 1,000, 1 unless given. */
  cost?: number | undefined
  /** Lets requests without a key pass on this route. */
  optional?: boolean | undefined
}

export const gateOptionNames: { readonly [Name in keyof Required<GateOptions>]: true } = {
  scopes: true,
  header: true,
  getKey: true,
  optional: true,
  onRefused: true,
  onVerdict: true,
  limiter: true,
  usage: true,
}

/** Read and filled in; `headers` in lower case. */
export interface GateSettings<Request>
  extends Pick<GateOptions<Request>, 'getKey' | 'onRefused' | 'onVerdict' | 'limiter' | 'usage'> {
  scopes: readonly string[]
  headers: readonly string[]
  optional: boolean
}

/**
 * @param maker by which name it is asked for
 * @throws TypeError naming what is wrong
 */
export function readGateOptions<Request>(
  maker: string,
  options: GateOptions<Request>,
): GateSettings<Request> {
  refuseUnknown(maker, options, gateOptionNames)
  const { scopes = [], header, getKey, optional = false, onRefused, onVerdict, limiter, usage } = options
  if (limiter !== undefined && typeof limiter.limit !== 'function') {
    throw new TypeError('limiter must be made by createLimiter')
  }
  if (usage !== undefined && typeof usage.count !== 'function') {
    throw new TypeError('usage must be made by createUsageReporter')
  }
  if (getKey !== undefined && header !== undefined) throw new TypeError('getKey takes the place of header')
  readFunction('getKey', getKey)
  readFunction('onRefused', onRefused)
  readFunction('onVerdict', onVerdict)
  readBoolean('optional', optional)
  const headers = readHeaderNames(header)
  return { scopes: readScopes(scopes), headers, getKey, optional, onRefused, onVerdict, limiter, usage }
}

/**
 * What a route asks, read when it is made, so that a mistake shows at start.
 *
 * @throws TypeError
 */
export function readRoute({ scopes = [], cost, optional = false }: RouteRequirements): void {
  readScopes(scopes)
  readCost(cost)
  readBoolean('optional', optional)
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
    throw new TypeError('header must be the name of a header, or several')
  }
  return names.map(name => (name as string).toLowerCase())
}
