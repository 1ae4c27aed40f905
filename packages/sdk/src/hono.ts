import type { Context, MiddlewareHandler } from 'hono'
import { answerTokens, type MakeEmbedHandler, respond } from './embed/handler.ts'
import {
  asksForClaim,
  type IdempotencyOf,
  type IdempotentOptions,
  idempotencyHeader,
  REQUEST_MAX_BYTES,
  requireIdempotency,
  tooLarge,
} from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import { type LimitRequirements, readRequirements } from './limits/limit.ts'
import { chargeOnce } from './protect/charge.ts'
import { exchangeOf, type HttpAnswer } from './protect/exchange.ts'
import { Gate } from './protect/gate.ts'
import type { GateOptions, RouteRequirements } from './protect/gate-options.ts'
import { warnMisplaced } from './protect/misplaced.ts'
import { type KeyringOf, type LimiterOf, requireLimiter } from './protect/parts.ts'
import { refusedBehind } from './protect/passage.ts'
import { keyless, requireScopes } from './protect/require-scopes.ts'
import { readCopy } from './protect/web-body.ts'
import { problemResponse, runOnce, withHeaders } from './protect/web-response.ts'
import type { Valid, Verdict } from './verify/verdict.ts'

/** The context of a route after `requireKey`: `c.get('apiKey')`. */
export interface KeyrailEnv {
  Variables: {
    apiKey: Valid
    /** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
    keyrail?: Verdict
  }
}

export type { IdempotentOptions, LimitRequirements }

/** Options of `requireKey`. */
export interface RequireKeyOptions extends GateOptions<Context>, Pick<RouteRequirements, 'cost'> {}

/**
 * Lets a request pass only with a valid key, which the route reads by `c.get('apiKey')`. Refuses as
 * `application/problem+json`, and with 429 where the key has used up a limit. With a whole `Keyrail`, charges limits and counts
 * requests. Counts when the answer is made, so that requests refused by a later `limit` are not counted. If the key is `optional`, `requireScope`, `limit`, and `idempotent` for a request with an `Idempotency-Key` still
 * demand one.
 *
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a route open, or if `cost` is given
 *   without `limiter`
 */
export function requireKey(
  keyring: KeyringOf,
  options: RequireKeyOptions & { optional: true },
): MiddlewareHandler<{ Variables: { apiKey: Valid | undefined } }>
export function requireKey(keyring: KeyringOf, options?: RequireKeyOptions): MiddlewareHandler<KeyrailEnv>
export function requireKey(
  keyring: KeyringOf,
  { cost, ...options }: RequireKeyOptions = {},
): MiddlewareHandler {
  const gate = new Gate<Context>('requireKey', keyring, options)
  gate.checkRoute({ cost })
  return async function checkKey(context, next) {
    const exchange = exchangeOf(context)
    let count: (() => void) | undefined
    let afterwards: (() => void) | undefined
    const { key, refusal, verdict } = await gate.admitWeb(exchange, context.req.raw, context, {
      route: { cost },
      counted: later => {
        count = later
      },
      answered: work => {
        afterwards = work
      },
    })
    if (refusal !== undefined) return refuse(context, refusal)
    context.set('apiKey', exchange.show(context.get('apiKey'), key))
    if (verdict !== undefined) context.set('keyrail', verdict)
    try {
      await next()
    } finally {
      if (!exchange.isHeldByLimit) count?.()
    }
    if (context.res.status < 400) afterwards?.()
    const { limitHeaders } = exchange
    if (Object.keys(limitHeaders).length > 0) answerWith(context, withHeaders(context.res, limitHeaders))
    return undefined
  }
}

/** After `requireKey`: the key must have all of these scopes, else 403. */
export function requireScope(...scopes: readonly string[]): MiddlewareHandler<KeyrailEnv> {
  const judge = requireScopes(scopes)
  return async function checkScope(context, next) {
    const refusal = judge(exchangeOf(context), keyOf(context))
    return refusal === undefined ? next() : refuse(context, refusal)
  }
}

/**
 * After `requireKey`: charges the request to the limits of its key. Refuses with 429 if one is used up. Behind a guard that
 * charges to the same limiter, only what `cost` exceeds the cost of the guard.
 */
export function limit(given: LimiterOf, requirements: LimitRequirements = {}): MiddlewareHandler<KeyrailEnv> {
  const limiter = requireLimiter(given)
  const cost = readRequirements('limit', requirements)
  const misplaced = warnMisplaced('limit')
  return async function checkLimits(context, next) {
    const exchange = exchangeOf(context)
    const key = keyOf(context)
    if (exchange.isShadow) {
      await next()
      return undefined
    }
    if (key === undefined) return refuse(context, exchange.isAnonymous ? keyless(exchange) : misplaced())
    exchange.isHeldByLimit = true
    const verdict = await chargeOnce(limiter, exchange, key, cost)
    if (!verdict.allowed) return refuse(context, refusedBehind(exchange, verdict.problem))
    exchange.isHeldByLimit = false
    await next()
    answerWith(context, withHeaders(context.res, verdict.headers))
    return undefined
  }
}

/** After `requireKey`: executes a request with an `Idempotency-Key` once, and answers a repetition with the first answer. */
export function idempotent(
  given: IdempotencyOf,
  options: IdempotentOptions = {},
): MiddlewareHandler<KeyrailEnv> {
  const idempotency = requireIdempotency(given, options)
  const misplaced = warnMisplaced('idempotent')
  return async function claim(context, next) {
    const exchange = exchangeOf(context)
    const key = keyOf(context)
    if (exchange.isShadow) {
      await next()
      return undefined
    }
    if (key === undefined) {
      if (!exchange.isAnonymous) return refuse(context, misplaced())
      const { method, headers } = context.req.raw
      const claims = asksForClaim(method, headers.has(idempotencyHeader), options.required)
      return claims ? refuse(context, keyless(exchange)) : next()
    }
    let isWhole = false
    const response = await runOnce(idempotency, context.req.raw, {
      exchange,
      key,
      isKept: () => !exchange.isUnkept,
      ...options,
      readBody: () => readBody(context, idempotency),
      // Without a change to the context: a response that Hono makes itself has them.
      presentHeaders: () => context.newResponse(null).headers,
      onReplay: () => {
        isWhole = true
      },
      run: async () => {
        isWhole = true
        await next()
        return context.res
      },
    })
    if (!isWhole) return response
    answerWith(context, response)
    return undefined
  }
}

/** Answers the pages that ask for embed tokens, for `app.post`. */
export const embedHandler: MakeEmbedHandler<Context, (context: Context) => Promise<Response>> = (
  ...given
) => {
  const answer = answerTokens(...given)
  return context => respond(answer, context, context.req.raw)
}

function refuse(context: Context, answer: HttpAnswer): Response {
  exchangeOf(context).isUnkept = true
  return problemResponse(answer)
}

function answerWith(context: Context, response: Response): void {
  // Hono merges the headers of the former response into a new one, so it is removed first.
  context.res = undefined
  context.res = response
}

/** Hono keeps a body that was read before, which is in memory then. */
async function readBody({ req }: Context, idempotency: Idempotency) {
  if (!req.raw.bodyUsed) return readCopy(req.raw, idempotency)
  const bytes = new Uint8Array(await req.arrayBuffer())
  return bytes.byteLength > (idempotency.maxRequestBytes ?? REQUEST_MAX_BYTES) ? tooLarge : bytes
}

/** Undefined if `requireKey` did not run. */
const keyOf = (context: Context<KeyrailEnv>): Valid | undefined => context.get('apiKey')
