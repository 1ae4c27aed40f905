import { refuseUnknown } from '../http/connection-options.ts'
import type { HttpProblem } from '../http/problem.ts'
import type { Keyring } from '../keyring/keyring.ts'
import { readCost } from '../limits/cost.ts'
import type { Limiter } from '../limits/limit.ts'
import { isFirstCount } from '../usage/once.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import { refused, type Valid } from '../verify/verdict.ts'
import { readCredential } from './credential.ts'
import { toHttpRefusal } from './refusal.ts'

/** What every framework's protection takes. */
export interface GateOptions {
  /** Scopes that the key must have, all of them. */
  scopes?: readonly string[] | undefined
  /** Where the key is: `authorization` (as `Bearer <key>`) unless given, else a header with the bare key. */
  header?: string | undefined
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
}

const known: { readonly [Name in keyof Required<GateOptions>]: true } = {
  scopes: true,
  header: true,
  limiter: true,
  usage: true,
}

export type Admission =
  /** `headers` tell what is left of the limits, and are to be sent with the answer. */
  | { key: Valid; headers: Readonly<Record<string, string>>; problem?: undefined }
  | { problem: HttpProblem; key?: undefined; headers?: undefined }

const noHeaders: Readonly<Record<string, string>> = Object.freeze({})

/**
 * What stands before a protected route, whatever the framework: key, scopes, limits, count. What it cannot judge it
 * does not let pass.
 */
export class Gate {
  readonly #keyring: Pick<Keyring, 'verify'>
  readonly #scopes: readonly string[]
  readonly #header: string
  readonly #limiter: Limiter | undefined
  readonly #usage: GateOptions['usage']

  /**
   * @param maker by which name it is asked for
   * @throws TypeError when what is handed over is not what it should be, so that a mistake leaves no route open
   */
  constructor(maker: string, keyring: Pick<Keyring, 'verify'>, options: GateOptions) {
    if (typeof keyring?.verify !== 'function') throw new TypeError(`${maker} takes a keyring`)
    refuseUnknown(maker, options, known)
    const { scopes = [], header, limiter, usage } = options
    this.#keyring = keyring
    this.#scopes = readScopes(scopes)
    this.#header = readHeaderName(header)
    if (limiter !== undefined && typeof limiter.limit !== 'function') {
      throw new TypeError('limiter must be made by createLimiter')
    }
    this.#limiter = limiter
    if (usage !== undefined && typeof usage.count !== 'function') {
      throw new TypeError('usage must be made by createUsageReporter')
    }
    this.#usage = usage
  }

  /**
   * @param exchange what stands for this request alone: it is counted once
   * @param rawHeaders name, value, name, value, as Node has them
   */
  async admit(
    exchange: object,
    rawHeaders: readonly string[],
    { scopes = [], cost }: RouteRequirements = {},
  ): Promise<Admission> {
    const { key: presented, fault } = readCredential(rawHeaders, this.#header)
    const required = [...this.#scopes, ...readScopes(scopes)]
    const key =
      fault === undefined ? this.#keyring.verify(presented, { scopes: required }) : refused.malformed_key
    if (!key.valid) {
      return { problem: toHttpRefusal(key, { scopes: required, header: this.#header, fault }) }
    }
    const limits = await this.#limiter?.limit(key, { cost })
    if (limits !== undefined && limits.allowed !== true) return { problem: limits.problem }
    if (this.#usage !== undefined && isFirstCount(this.#usage, exchange)) this.#usage.count(key)
    return { key, headers: limits?.headers ?? noHeaders }
  }

  /** The same for a request of the Fetch API, which has joined what was sent twice. */
  admitWeb(
    exchange: object,
    { headers }: Pick<Request, 'headers'>,
    requirements?: RouteRequirements,
  ): Promise<Admission> {
    const value = headers.get(this.#header)
    return this.admit(exchange, value === null ? [] : [this.#header, value], requirements)
  }
}

/**
 * What a route asks, read when it is made, so that a mistake shows at start.
 *
 * @throws TypeError
 */
export function readRoute({ scopes = [], cost }: RouteRequirements): void {
  readScopes(scopes)
  readCost(cost)
}

export function readScopes(scopes: readonly string[]): readonly string[] {
  if (!Array.isArray(scopes) || !scopes.every(scope => typeof scope === 'string' && scope !== '')) {
    throw new TypeError('scopes must be an array of scope names')
  }
  return Object.freeze([...scopes])
}

/** @returns lower-case */
export function readHeaderName(header: string = 'authorization'): string {
  if (typeof header !== 'string' || !/^[\w-]+$/.test(header)) {
    throw new TypeError('header must be the name of a header')
  }
  return header.toLowerCase()
}
