import type { Context, MiddlewareHandler } from 'hono'
import type { HttpProblem } from './http/problem.ts'
import { type IdempotentOptions, requireIdempotency } from './idempotency/gate.ts'
import type { Idempotency } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { Gate, type GateOptions, type RouteRequirements, readRoute, readScopes } from './protect/gate.ts'
import { tellMisplaced } from './protect/misplaced.ts'
import { toHttpRefusal } from './protect/refusal.ts'
import { problemResponse, runOnce, withHeaders } from './protect/web-response.ts'
import { refused, type Valid } from './verify/verdict.ts'

/** What a route behind `requireKey` finds in its context: `c.get('apiKey')`. */
export interface KeyrailEnv {
  Variables: { apiKey: Valid }
}

export type { IdempotentOptions }

/** What protects the routes behind it. */
export interface RequireKeyOptions extends GateOptions, Pick<RouteRequirements, 'cost'> {}

/**
 * Lets only requests with a valid key pass, and tells the route whose it is: `c.get('apiKey')`. Refusals are
 * answered here, as `application/problem+json`.
 *
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  { cost, ...options }: RequireKeyOptions = {},
): MiddlewareHandler<KeyrailEnv> {
  const gate = new Gate('requireKey', keyring, options)
  readRoute({ cost })
  return async function checkKey(context, next) {
    const { key, headers, problem } = await gate.admitWeb(context, context.req.raw, { cost })
    if (problem !== undefined) return refuse(context, problem)
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
    if (apiKey === undefined) return refuse(context, misplaced())
    if (!required.every(scope => apiKey.scopes.includes(scope))) {
      return refuse(context, toHttpRefusal(refused.insufficient_scope, { scopes: required }))
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
    if (key === undefined) return refuse(context, misplaced())
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

function refuse(context: Context, problem: HttpProblem): Response {
  refusedHere.add(context)
  return problemResponse(problem)
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
