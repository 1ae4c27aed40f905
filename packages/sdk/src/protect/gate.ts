/**
 * Stands before a protected route of any framework. `credential.ts` finds the key, `refusal.ts` answers,
 * `hold-response.ts` and `web-response.ts` hold answers, `with-key.ts` wraps handlers of the Fetch API, and
 * `request-gate.ts` judges where no framework stands.
 */

import type { HttpProblem } from '../http/problem.ts'
import type { Keyring } from '../keyring/keyring.ts'
import type { LimitNumbers } from '../limits/verdict.ts'
import { partOf } from '../runtime/part-of.ts'
import { warn } from '../runtime/reports.ts'
import { sendRefusals } from '../usage/refusal-reports.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import { gatePartsOf } from '../verify/gate-parts.ts'
import { countedBy, type RefusalCounts } from '../verify/refusal-counts.ts'
import { isOtherForm } from '../verify/token.ts'
import { type Refused, refused, type Valid, type Verdict } from '../verify/verdict.ts'
import type { Requirements } from '../verify/verify.ts'
import { chargeOnce } from './charge.ts'
import { type Credential, readCredential } from './credential.ts'
import type { Exchange, HttpAnswer } from './exchange.ts'
import {
  type GateOptions,
  type GateSettings,
  type RouteRequirements,
  readGateOptions,
  readRoute,
  readScopes,
} from './gate-options.ts'
import type { KeyringOf } from './parts.ts'
import { openPassage } from './passage.ts'
import { toHttpRefusal } from './refusal.ts'
import { mayBeUnasked, warnUnasked } from './unasked.ts'

/** The result of a gate: the request passes, or is answered with `refusal`. */
export type Admission =
  /**
   * `headers` hold the remaining limits; send them with the answer. `key` is undefined if none was sent where it is
   * optional.
   */
  | {
      key: Valid | undefined
      headers: Readonly<Record<string, string>>
      /** What is left of the limits that decided; undefined if none did, or the service did not say. */
      limits?: LimitNumbers['limits']
      /** With the option `shadow` of the keyring alone: the verdict on the key, which may be a refusal. */
      verdict?: Verdict
      refusal?: undefined
    }
  | {
      refusal: HttpAnswer
      limits?: LimitNumbers['limits']
      key?: undefined
      headers?: undefined
      verdict?: undefined
    }

const noHeaders: Readonly<Record<string, string>> = Object.freeze({})
const atOnce = (work: () => void): void => work()

/** A request to judge. */
export interface Asked<Request> {
  /** The same for every guard of the request, so that it is counted once. */
  exchange: Exchange
  /** Name, value, name, value, as Node has them. */
  rawHeaders: readonly string[]
  /** The framework's request. */
  request: Request
  /** The address of the caller, as the framework or the vendor knows it. Called only if the options have no `getIp`. */
  peer?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined
  route?: RouteRequirements | undefined
  /** Whether the request is to be executed once for its tenant. Default: false. */
  claims?: boolean | undefined
  /** Receives the function that counts the request, to call it later. Default: count at once. */
  counted?: ((count: () => void) => void) | undefined
  /** Receives work for after the answer, unless that is an error. Default: work at once. */
  answered?: ((work: () => void) => void) | undefined
}

/**
 * Protects a route of any framework: checks key, scopes and limits, and counts the request. Refuses what it cannot
 * check. Limits and counts are those of the options, or of the `Keyrail` that it was given.
 */
export class Gate<Request = unknown> {
  readonly #keyring: Pick<Keyring, 'verify'>
  readonly #settings: GateSettings<Request>
  /** Counts the refusals of keys and of limits alike, if the gate counts requests. */
  readonly #refusals: RefusalCounts | undefined

  /**
   * @param maker the name of the calling function, for errors
   * @throws TypeError naming a wrong argument, so that a mistake leaves no route open
   */
  constructor(maker: string, given: KeyringOf, options: GateOptions<Request>) {
    const keyring = partOf(given, 'keys')
    if (typeof keyring?.verify !== 'function') throw new TypeError(`${maker} takes a keyring`)
    this.#keyring = keyring
    this.#settings = readGateOptions(maker, given, options)
    const { usage } = this.#settings
    this.#refusals = usage && sendRefusals(usage, keyring)
  }

  /** Counts requests; undefined if the options name no reporter. */
  get usage(): Pick<UsageReporter, 'count'> | undefined {
    return this.#settings.usage
  }

  /**
   * Checks the options of a route when it is made, so that a mistake shows at startup.
   *
   * @throws TypeError naming the option that is wrong, or that this gate cannot meet
   */
  checkRoute(route: RouteRequirements): void {
    readRoute(route)
    if (route.cost !== undefined && this.#settings.limiter === undefined) {
      throw new TypeError('cost needs limiter, which charges it')
    }
  }

  /** A gate in shadow changes nothing of what a gate that refuses has found, in whichever order they stand. */
  async admit(asked: Asked<Request>): Promise<Admission> {
    const { exchange } = asked
    const isShadow = gatePartsOf(this.#keyring.verify).shadow !== undefined
    const { enforced, passage, limitHeaders } = exchange
    exchange.hasShadow ||= isShadow
    const admission = await (isShadow ? this.#judgeInShadow(asked) : this.#judge(asked, false))
    if (!isShadow) {
      if (admission.refusal === undefined) exchange.enforced = { key: admission.key ?? enforced?.key }
      return admission
    }
    if (enforced === undefined || admission.refusal !== undefined) return admission
    exchange.passage = passage
    exchange.limitHeaders = limitHeaders
    return { ...admission, key: enforced.key }
  }

  /**
   * What the vendor's functions throw refuses nothing in shadow: the request passes without a verdict. The warning is
   * without the text of the error, which may hold the key.
   */
  async #judgeInShadow(asked: Asked<Request>): Promise<Admission> {
    try {
      return await this.#judge(asked, true)
    } catch {
      warn('getKey or getIp threw: the request passed in shadow without a verdict', 'listener_threw')
      return { key: undefined, headers: noHeaders }
    }
  }

  async #judge(
    {
      exchange,
      rawHeaders,
      request,
      peer,
      route: { scopes = [], cost, optional } = {},
      claims = false,
      counted = atOnce,
      answered = atOnce,
    }: Asked<Request>,
    isShadow: boolean,
  ): Promise<Admission> {
    const settings = this.#settings
    const required = [...settings.scopes, ...readScopes(scopes)]
    const { key: presented, fault } = await this.#credential(rawHeaders, request)
    const keyring = this.#keyring
    const ours = countedBy(keyring.verify)
    const counts = ours === undefined ? undefined : this.#refusals
    const listeners = isShadow ? { onVerdict: settings.onVerdict } : settings
    const passage = openPassage(exchange, request, listeners, { counts, presented })
    // A route that demands something of a key demands a key, also where the key is optional.
    const isDemanded = required.length > 0 || settings.demandsLimits || cost !== undefined || claims
    const mayLack = (optional ?? settings.optional) && !isDemanded
    if (mayLack && fault === undefined && presented === undefined) {
      passage.pass()
      return { key: undefined, headers: noHeaders }
    }
    // Without a key nothing of the vendor's is called.
    const hasKey = fault === undefined && presented !== undefined
    const ip = hasKey ? await this.#addressOf(request, peer) : undefined
    const judge = () => (ours?.judge ?? keyring.verify).call(keyring, presented, { scopes: required, ip })
    const first = fault === undefined ? judge() : refused.malformed_key
    const verdict =
      first.valid || isShadow ? first : await this.#askVendor(presented, { scopes: required, ip }, first)
    if (!verdict.valid) {
      const header = settings.getKey === undefined ? settings.headers : []
      const refusal = passage.refuse(toHttpRefusal(verdict, { scopes: required, header, fault }))
      return isShadow ? { key: undefined, headers: noHeaders, verdict } : { refusal }
    }
    passage.knows(verdict)
    const { limiter, usage, ignoresLimits } = settings
    const limits = limiter && (await chargeOnce(limiter, exchange, verdict, cost))
    const isLimited = limits !== undefined && limits.allowed !== true
    if (isLimited) {
      const refusal = passage.refuse(limits.problem as HttpProblem)
      if (!isShadow) return { refusal, limits: limits.limits }
    }
    if (usage !== undefined && exchange.takeCount(usage)) counted(() => usage.count(verdict))
    if (ignoresLimits && mayBeUnasked(keyring, verdict)) {
      answered(() => warnUnasked(keyring, exchange, verdict))
    }
    if (!isLimited) passage.pass()
    if (isShadow) {
      exchange.limitHeaders = noHeaders
      return { key: verdict, headers: noHeaders, verdict }
    }
    return { key: verdict, headers: limits?.headers ?? noHeaders, limits: limits?.limits }
  }

  /** The verdict of the vendor's own check on a key that the keyring does not know; by default the refusal. */
  async #askVendor(
    presented: string | undefined,
    requirements: Requirements,
    refusal: Refused,
  ): Promise<Verdict> {
    const isUnknown = refusal.code === 'unknown_key' || refusal.code === 'malformed_key'
    const vendor = gatePartsOf(this.#keyring.verify).unknownKeys
    if (vendor === undefined || !isUnknown || presented === undefined || !isOtherForm(presented))
      return refusal
    return await vendor.ask(presented, requirements, refusal)
  }

  /** `admit` for a request of the Fetch API, which joins repeated headers. */
  admitWeb(
    exchange: Exchange,
    { headers }: Pick<globalThis.Request, 'headers'>,
    request: Request,
    more: Pick<Asked<Request>, 'peer' | 'route' | 'claims' | 'counted' | 'answered'> = {},
  ): Promise<Admission> {
    return this.admit({ exchange, rawHeaders: [...headers].flat(), request, ...more })
  }

  /** @throws what `getIp` throws */
  async #addressOf(request: Request, peer: Asked<Request>['peer']): Promise<string | undefined> {
    const { getIp } = this.#settings
    const ip: unknown = await (getIp === undefined ? peer?.() : getIp(request))
    if (ip === undefined || ip === null) return undefined
    if (typeof ip !== 'string') throw new TypeError('getIp must return a string or undefined')
    return ip
  }

  /** @throws what `getKey` throws */
  async #credential(rawHeaders: readonly string[], request: Request): Promise<Credential> {
    const { getKey, headers } = this.#settings
    if (getKey !== undefined) {
      const key: unknown = await getKey(request)
      if (key === undefined || key === null || key === '') return { key: undefined }
      if (typeof key !== 'string') throw new TypeError('getKey must return a string or undefined')
      return { key }
    }
    let first: Credential = { key: undefined }
    for (const header of headers) {
      const credential = readCredential(rawHeaders, header)
      if (credential.key || credential.fault === 'twice') return credential
      // A header with another scheme may serve another purpose, so the key may be in the next header.
      if (first.fault === undefined && first.key === undefined) first = credential
    }
    return first
  }
}
