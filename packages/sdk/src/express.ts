import type { Request, RequestHandler, Response } from 'express'
import {
  claimRequest,
  type IdempotentOptions,
  idempotencyHeader,
  requireIdempotency,
} from './idempotency/gate.ts'
import type { Idempotency, IdempotencyVerdict } from './idempotency/idempotent.ts'
import type { Keyring } from './keyring/keyring.ts'
import { type Limiter, type LimitRequirements, type LimitVerdict, readRequirements } from './limits/limit.ts'
import { beforeAnswer, isOver } from './protect/answer-begins.ts'
import { type Admission, Gate } from './protect/gate.ts'
import { type GateOptions, type RouteRequirements, readRoute, readScopes } from './protect/gate-options.ts'
import { holdResponse, replayAnswer } from './protect/hold-response.ts'
import { tellMisplaced } from './protect/misplaced.ts'
import { headerValues, readParsedBody } from './protect/node-request.ts'
import { type HttpAnswer, isAnonymous, refusedBehind } from './protect/passage.ts'
import { toHttpRefusal } from './protect/refusal.ts'
import { refused, type Valid } from './verify/verdict.ts'

declare global {
  namespace Express {
    interface Request {
      /** The key of this request: there once `requireKey` has let it pass. */
      apiKey?: Valid
    }
  }
}

export type { IdempotentOptions, LimitRequirements }

/** What protects the routes behind it. */
export interface RequireKeyOptions extends GateOptions<Request>, Pick<RouteRequirements, 'cost'> {}

/** Requests that a `limit` has not let pass, or not yet. They are not counted. */
const notLetPass = new WeakSet<Request>()

/** Answers that refuse, perhaps behind `idempotent`: the next request may be let pass, so they are not kept. */
const refusals = new WeakSet<Response>()

/**
 * Lets only requests with a valid key pass, and tells the route whose it is: `req.apiKey`. Works with Express 4
 * and 5. Refusals are answered here: 401, 403 or 503 as `application/problem+json`. A request is counted when its
 * answer begins, so that one which a `limit` behind this refuses is not. Where the key is `optional`, `requireScope` still
 * asks for one, and `limit` and `idempotent` let requests without one pass.
 *
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  { cost, ...options }: RequireKeyOptions = {},
): RequestHandler {
  const gate = new Gate<Request>('requireKey', keyring, options)
  readRoute({ cost })
  return function checkKey(request, response, next) {
    const asked = {
      exchange: request,
      rawHeaders: request.rawHeaders,
      request,
      route: { cost },
      counted: (count: () => void) =>
        beforeAnswer(response, () => {
          if (!notLetPass.has(request)) count()
        }),
    }
    const judge = ({ key, headers, refusal }: Admission) => {
      if (isOver(response)) return
      if (refusal !== undefined) return sendAnswer(response, refusal)
      if (key !== undefined) request.apiKey = key
      response.set(headers)
      next()
    }
    gate.admit(asked).then(judge).catch(next)
  }
}

/**
 * For a route behind `requireKey`: the key must also have these scopes, all of them.
 *
 * Without `requireKey` before it every request is answered 500, and a process warning tells the order.
 */
export function requireScope(...scopes: readonly string[]): RequestHandler {
  const required = readScopes(scopes)
  if (required.length === 0) throw new TypeError('requireScope takes at least one scope')
  const misplaced = tellMisplaced('requireScope')
  return function checkScope(request: Request, response, next) {
    const { apiKey } = request
    if (!apiKey) {
      if (!isAnonymous(request)) return sendAnswer(response, misplaced())
      return sendAnswer(response, refusedBehind(request, toHttpRefusal(refused.missing_key, { header: [] })))
    }
    if (!required.every(scope => apiKey.scopes.includes(scope))) {
      const problem = toHttpRefusal(refused.insufficient_scope, { scopes: required })
      return sendAnswer(response, refusedBehind(request, problem))
    }
    next()
  }
}

/** Behind `requireKey`: charges the request to the limits of its key, and answers 429 when they are used up. */
export function limit(limiter: Limiter, requirements: LimitRequirements = {}): RequestHandler {
  if (typeof limiter?.limit !== 'function') throw new TypeError('limit takes what createLimiter makes')
  const cost = readRequirements('limit', requirements)
  const misplaced = tellMisplaced('limit')
  return function checkLimits(request: Request, response, next) {
    const { apiKey } = request
    if (!apiKey) return isAnonymous(request) ? next() : sendAnswer(response, misplaced())
    notLetPass.add(request)
    const judge = (verdict: LimitVerdict) => {
      if (isOver(response)) return
      if (!verdict.allowed) return sendAnswer(response, refusedBehind(request, verdict.problem))
      notLetPass.delete(request)
      response.set(verdict.headers)
      next()
    }
    limiter.limit(apiKey, { cost }).then(judge).catch(next)
  }
}

/**
 * Behind `requireKey` and what parses the body: a request with an `Idempotency-Key` is executed once, and its
 * repetition answered as it was. A GET is let through.
 */
export function idempotent(idempotency: Idempotency, options: IdempotentOptions = {}): RequestHandler {
  requireIdempotency(idempotency, options)
  const misplaced = tellMisplaced('idempotent')
  return function claim(request: Request, response, next) {
    const { apiKey, method, originalUrl, rawHeaders } = request
    if (!apiKey) return isAnonymous(request) ? next() : sendAnswer(response, misplaced())
    const judge = async (verdict: IdempotencyVerdict | undefined) => {
      const claim = verdict?.verdict === 'execute' ? verdict.claim : undefined
      // Nobody is left to hear what would be done.
      if (isOver(response)) return claim?.release()
      if (verdict?.verdict === 'refuse') return sendAnswer(response, refusedBehind(request, verdict.problem))
      if (verdict?.verdict === 'replay') return replayAnswer(response, verdict.answer)
      if (claim !== undefined) {
        holdResponse(response, idempotency.maxBodyBytes, claim, () => !refusals.has(response))
      }
      next()
    }
    claimRequest(idempotency, {
      exchange: request,
      key: apiKey,
      method,
      target: originalUrl,
      idempotencyKeys: headerValues(rawHeaders, idempotencyHeader),
      readBody: () => readParsedBody(request, request),
      ...options,
    })
      .then(judge)
      .catch(next)
  }
}

/** For `express.json({ verify: keepRawBody })`: two bodies that differ in a space then differ for `idempotent` too. */
export function keepRawBody(request: object, _response: unknown, bytes: Uint8Array): void {
  Object.assign(request, { rawBody: bytes })
}

function sendAnswer(response: Response, { status, headers, body }: HttpAnswer): void {
  refusals.add(response)
  response.status(status).set(headers).send(JSON.stringify(body))
}
