import { refuseUnknown } from '../http/connection-options.ts'
import { readBoolean, readFunction } from '../http/option-values.ts'
import {
  asksForClaim,
  type IdempotencyOf,
  type IdempotentOptions,
  idempotencyHeader,
  requireIdempotency,
} from '../idempotency/gate.ts'
import type { Keyring } from '../keyring/keyring.ts'
import { isWhole } from '../runtime/part-of.ts'
import { callListener } from '../runtime/reports.ts'
import type { UsageReporter } from '../usage/reporter.ts'
import type { Valid, Verdict } from '../verify/verdict.ts'
import { exchangeOf } from './exchange.ts'
import { Gate } from './gate.ts'
import { type GateOptions, gateOptionNames, type RouteRequirements, readRoute } from './gate-options.ts'
import { type KeyringSource, opened } from './opened.ts'
import type { KeyringOf } from './parts.ts'
import { readCopy } from './web-body.ts'
import { problemResponse, runOnce, withHeaders } from './web-response.ts'

/** Options of `withKey`. */
export interface WithKeyOptions extends Omit<GateOptions<Request>, 'getIp'>, Pick<RouteRequirements, 'cost'> {
  /**
   * Finds the address of the caller, without a port, by what the host passes beside the request, as `(request, server) =>
   * server.requestIP(request)?.address` in Bun. Without it, or if it returns undefined or null, a key that is restricted to networks
   * is refused as `ip_unknown`. If it throws, the answer is 500.
   */
  // biome-ignore lint/suspicious/noExplicitAny: only the host knows what it passes.
  getIp?: ((request: Request, ...host: any[]) => ReturnType<NonNullable<GateOptions['getIp']>>) | undefined
  /** Executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
  idempotency?: IdempotencyOf | undefined
  /** Refuses requests without `Idempotency-Key` with 400. */
  idempotencyRequired?: IdempotentOptions['required']
  /**
   * A host that freezes a process after an answer has such a function, as `after` of `next/server`. The counts of `usage` are
   * sent before that, once a second at most.
   */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

const known: { readonly [Name in keyof Required<WithKeyOptions>]: true } = {
  ...gateOptionNames,
  cost: true,
  idempotency: true,
  idempotencyRequired: true,
  waitUntil: true,
}

/** A request handler that also gets the key, and then what the host passes beside the request. */
export type KeyedHandler<R extends Request, Host extends unknown[], K = Valid> = (
  request: R,
  keyed: { apiKey: K; keyrail?: Verdict },
  ...host: Host
) => Response | Promise<Response>

/**
 * Wraps a handler that turns a `Request` into a `Response`: of Bun, Deno, workers, or any framework of the Fetch API. Refuses
 * as `application/problem+json`. With a whole `Keyrail`, charges limits and counts requests.
 *
 * @param keyring or a `Keyrail`, whose keyring is made with the first request; or a function that makes one of the two, called
 *   once with the first request, for hosts where the service is not reachable when the code is loaded. Handlers with the same
 *   function share its result
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a handler open
 */
export function withKey<R extends Request = Request, Host extends unknown[] = []>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, Host, Valid | undefined>,
  options: WithKeyOptions & { optional: true },
): (request: R, ...host: Host) => Promise<Response>
export function withKey<R extends Request = Request, Host extends unknown[] = []>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, Host>,
  options?: WithKeyOptions,
): (request: R, ...host: Host) => Promise<Response>
export function withKey<R extends Request, Host extends unknown[]>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, Host>,
  options: WithKeyOptions = {},
): (request: R, ...host: Host) => Promise<Response> {
  if (typeof handler !== 'function') throw new TypeError('withKey takes a request handler')
  refuseUnknown('withKey', options, known)
  readRoute(options)
  readBoolean('idempotencyRequired', options.idempotencyRequired ?? false)
  if (isMade(keyring)) return guard(keyring, handler, options)
  let guarded: ((request: R, ...host: Host) => Promise<Response>) | undefined
  return async function handle(request, ...host) {
    const { keyring: held, ...more } = await opened(keyring)
    guarded ??= guard(held, handler, { ...more, ...options })
    return guarded(request, ...host)
  }
}

/** Requests within this time share a report. */
const FLUSH_MS = 1_000

/** Sends counts while the host waits for it. */
function flushBefore(
  usage: Partial<Pick<UsageReporter, 'flush'>> | undefined,
  waitUntil: ((work: Promise<unknown>) => void) | undefined,
): () => void {
  if (waitUntil === undefined || usage?.flush === undefined) return () => {}
  let due: Promise<void> | undefined
  return function flush() {
    due ??= new Promise(resolve => setTimeout(resolve, FLUSH_MS)).then(() => {
      due = undefined
      return usage.flush?.()
    })
    const work = due
    callListener(() => waitUntil(work))
  }
}

const isMade = (source: KeyringSource): source is Pick<Keyring, 'verify'> =>
  typeof source !== 'function' && !isWhole(source, 'keys')

function guard<R extends Request, Host extends unknown[]>(
  keyring: KeyringOf,
  handler: KeyedHandler<R, Host>,
  { cost, idempotency: given, idempotencyRequired, waitUntil, getIp, ...options }: WithKeyOptions,
): (request: R, ...host: Host) => Promise<Response> {
  const gate = new Gate<Request>('withKey', keyring, options)
  readFunction('getIp', getIp)
  gate.checkRoute({ cost })
  const idempotency = given && requireIdempotency(given)
  if (idempotency === undefined && idempotencyRequired)
    throw new TypeError('idempotencyRequired needs idempotency')
  const flush = flushBefore(
    gate.usage as Partial<UsageReporter> | undefined,
    readFunction('waitUntil', waitUntil),
  )
  return async function handle(request, ...host) {
    const claims =
      idempotency !== undefined &&
      asksForClaim(request.method, request.headers.has(idempotencyHeader), idempotencyRequired)
    let afterwards: (() => void) | undefined
    const exchange = exchangeOf(request)
    const { key, verdict, refusal } = await gate.admitWeb(exchange, request, request, {
      peer: getIp && (() => getIp(request, ...host)),
      route: { cost },
      claims,
      counted: count => {
        count()
        flush()
      },
      answered: work => {
        afterwards = work
      },
    })
    if (refusal !== undefined) return problemResponse(refusal)
    // Undefined only with the option `optional`.
    const run = async () =>
      handler(request, { apiKey: key as Valid, ...(verdict && { keyrail: verdict }) }, ...host)
    const response =
      idempotency === undefined || key === undefined || exchange.isShadow
        ? await run()
        : await runOnce(idempotency, request, {
            exchange,
            key,
            required: idempotencyRequired,
            readBody: () => readCopy(request, idempotency),
            run,
          })
    if (response.status < 400) afterwards?.()
    return withHeaders(response, exchange.limitHeaders)
  }
}
