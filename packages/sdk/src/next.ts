import { refuseUnknown } from './http/connection-options.ts'
import { type IdempotentOptions, requireIdempotency } from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { Gate } from './protect/gate.ts'
import {
  type GateOptions,
  gateOptionNames,
  type RouteRequirements,
  readRoute,
} from './protect/gate-options.ts'
import { opened, type Protection } from './protect/opened.ts'
import { problemResponse, runOnce, withHeaders } from './protect/web-response.ts'
import type { Valid } from './verify/verdict.ts'

/** What protects one route handler. */
export interface WithKeyOptions extends GateOptions<Request>, Pick<RouteRequirements, 'cost'> {
  /** A request with an `Idempotency-Key` is executed once, and its repetition answered as it was. */
  idempotency?: Idempotency | undefined
  /** Whether a request without `Idempotency-Key` is refused. */
  idempotencyRequired?: IdempotentOptions['required']
}

const known: { readonly [Name in keyof Required<WithKeyOptions>]: true } = {
  ...gateOptionNames,
  cost: true,
  idempotency: true,
  idempotencyRequired: true,
}

export type { Protection }

/** A route handler, with the key of the request beside what Next tells of the route. */
export type KeyedHandler<R extends Request, C, K = Valid> = (
  request: R,
  context: C & { apiKey: K },
) => Response | Promise<Response>

/**
 * Wraps a route handler of Next, or anything else that makes a `Response` of a `Request`. Refusals are answered here,
 * as `application/problem+json`. It belongs to the route: a proxy in front of it is no place to protect one.
 *
 * @param keyring or a function that opens it, called once, with the first request: `next build` runs the file of a
 *   route too, where there is no service to ask and perhaps no secret. All routes that name one function share what it
 *   has opened
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function withKey<R extends Request = Request, C = unknown>(
  keyring: Pick<Keyring, 'verify'> | (() => Protection | Promise<Protection>),
  handler: KeyedHandler<R, C, Valid | undefined>,
  options: WithKeyOptions & { optional: true },
): (request: R, context: C) => Promise<Response>
export function withKey<R extends Request = Request, C = unknown>(
  keyring: Pick<Keyring, 'verify'> | (() => Protection | Promise<Protection>),
  handler: KeyedHandler<R, C>,
  options?: WithKeyOptions,
): (request: R, context: C) => Promise<Response>
export function withKey<R extends Request = Request, C = unknown>(
  keyring: Pick<Keyring, 'verify'> | (() => Protection | Promise<Protection>),
  handler: KeyedHandler<R, C>,
  options: WithKeyOptions = {},
): (request: R, context: C) => Promise<Response> {
  if (typeof handler !== 'function') throw new TypeError('withKey takes a route handler')
  refuseUnknown('withKey', options, known)
  readRoute(options)
  if (typeof keyring !== 'function') return guard(keyring, handler, options)
  let guarded: ((request: R, context: C) => Promise<Response>) | undefined
  return async function handle(request, context) {
    const { keyring: held, ...more } = await opened(keyring)
    guarded ??= guard(held, handler, { ...more, ...options })
    return guarded(request, context)
  }
}

function guard<R extends Request, C>(
  keyring: Pick<Keyring, 'verify'>,
  handler: KeyedHandler<R, C>,
  { cost, idempotency, idempotencyRequired, ...options }: WithKeyOptions,
): (request: R, context: C) => Promise<Response> {
  const gate = new Gate<Request>('withKey', keyring, options)
  if (idempotency !== undefined) requireIdempotency(idempotency)
  else if (idempotencyRequired) throw new TypeError('idempotencyRequired needs idempotency')
  return async function handle(request, context) {
    const { key, headers, refusal } = await gate.admitWeb(request, request, request, { cost })
    if (refusal !== undefined) return problemResponse(refusal)
    // Undefined only where that was asked for.
    const run = async () => handler(request, { ...context, apiKey: key as Valid })
    const response =
      idempotency === undefined || key === undefined
        ? await run()
        : await runOnce(idempotency, request, {
            exchange: request,
            key,
            required: idempotencyRequired,
            readBody: async () => new Uint8Array(await request.clone().arrayBuffer()),
            run,
          })
    return withHeaders(response, headers)
  }
}
