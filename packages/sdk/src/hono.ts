import type { Context, MiddlewareHandler } from 'hono'
import { type IdempotentOptions, requireIdempotency } from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { Gate } from './protect/gate.ts'
import { type GateOptions, type RouteRequirements, readRoute, readScopes } from './protect/gate-options.ts'
import { tellMisplaced } from './protect/misplaced.ts'
import { type HttpAnswer, isAnonymous, refusedBehind } from './protect/passage.ts'
import { toHttpRefusal } from './protect/refusal.ts'
import { problemResponse, runOnce, withHeaders } from './protect/web-response.ts'
import { refused, type Valid } from './verify/verdict.ts'

/** What a route behind `requireKey` finds in its context: `c.get('apiKey')`. */
export interface KeyrailEnv {
  Variables: { apiKey: Valid }
}

export type { IdempotentOptions }

/** What protects the routes behind it. */
export interface RequireKeyOptions extends GateOptions<Context>, Pick<RouteRequirements, 'cost'> {}

/**
 * Lets only requests with a valid key pass, and tells the route whose it is: `c.get('apiKey')`. Refusals are
 * answered here, as `application/problem+json`. Where the key is `optional`, `requireScope` still asks for one, and
 * `idempotent` lets requests without one pass.
 *
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  options: RequireKeyOptions & { optional: true },
): MiddlewareHandler<{ Variables: { apiKey: Valid | undefined } }>
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  options?: RequireKeyOptions,
): MiddlewareHandler<KeyrailEnv>
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  { cost, ...options }: RequireKeyOptions = {},
): MiddlewareHandler {
  const gate = new Gate<Context>('requireKey', keyring, options)
  readRoute({ cost })
  return async function checkKey(context, next) {
    const { key, headers, refusal } = await gate.admitWeb(context, context.req.raw, context, { cost })
    if (refusal !== undefined) return refuse(context, refusal)
    context.set('apiKey', key)
    await next()
    if (Object.keys(headers).length > 0) answerWith(context, withHeaders(context.res, headers))
    return undefined
  }
}

/** For a route behind `requireKey`: the key must also have these scopes, all of them. */
export function requireScope(...scopes: readonly string[]): MiddlewareHandler<KeyrailEnv> {
  const required = readScopes(scopes)
  if (required.length === 0) throw new TypeError('requireScope takes at least one scope')
  const misplaced = tellMisplaced('requireScope')
  return async function checkScope(context, next) {
    const apiKey = keyOf(context)
    if (apiKey === undefined) {
      if (!isAnonymous(context)) return refuse(context, misplaced())
      return refuse(context, refusedBehind(context, toHttpRefusal(refused.missing_key, { header: [] })))
    }
    if (!required.every(scope => apiKey.scopes.includes(scope))) {
      const problem = toHttpRefusal(refused.insufficient_scope, { scopes: required })
      return refuse(context, refusedBehind(context, problem))
    }
    return next()
  }
}

/** Behind `requireKey`: a request with an `Idempotency-Key` is executed once, and its repetition answered as it was. */
export function idempotent(
  idempotency: Idempotency,
  options: IdempotentOptions = {},
): MiddlewareHandler<KeyrailEnv> {
  requireIdempotency(idempotency, options)
  const misplaced = tellMisplaced('idempotent')
  return async function claim(context, next) {
    const key = keyOf(context)
    if (key === undefined) return isAnonymous(context) ? next() : refuse(context, misplaced())
    let hasRun = false
    const response = await runOnce(idempotency, context.req.raw, {
      exchange: context,
      key,
      isKept: () => !refusedHere.has(context),
      ...options,
      readBody: () => readBody(context),
      run: async () => {
        hasRun = true
        await next()
        return context.res
      },
    })
    if (!hasRun) return response
    answerWith(context, response)
    return undefined
  }
}

/** What was refused here, perhaps behind `idempotent`: the next request may be let pass, so that is not kept. */
const refusedHere = new WeakSet<Context>()

function refuse(context: Context, answer: HttpAnswer): Response {
  refusedHere.add(context)
  return problemResponse(answer)
}

function answerWith(context: Context, response: Response): void {
  // What takes the place of nothing is not given the headers of what was there.
  context.res = undefined
  context.res = response
}

/** A route may pass its request on as it came, so the body is left in it. What was read before, Hono has kept. */
async function readBody({ req }: Context): Promise<Uint8Array> {
  const { raw } = req
  return new Uint8Array(await (raw.bodyUsed ? req.arrayBuffer() : raw.clone().arrayBuffer()))
}

/** Undefined where `requireKey` does not stand before. */
const keyOf = (context: Context<KeyrailEnv>): Valid | undefined => context.get('apiKey')
