import type { Request, RequestHandler, Response } from 'express'
import { answerTokens, headerOf, type MakeEmbedHandler, type TokenAnswer } from './embed/handler.ts'
import {
  asksForClaim,
  claimRequest,
  type IdempotencyOf,
  type IdempotentOptions,
  idempotencyHeader,
  requireIdempotency,
} from './idempotency/gate.ts'
import type { IdempotencyVerdict } from './idempotency/idempotent.ts'
import { type LimitRequirements, readRequirements } from './limits/limit.ts'
import type { LimitVerdict } from './limits/verdict.ts'
import { afterAnswer, beforeAnswer, isOver } from './protect/answer-begins.ts'
import { chargeOnce } from './protect/charge.ts'
import { exchangeOf } from './protect/exchange.ts'
import { type Admission, Gate } from './protect/gate.ts'
import type { GateOptions, RouteRequirements } from './protect/gate-options.ts'
import { holdResponse } from './protect/hold-response.ts'
import { warnMisplaced } from './protect/misplaced.ts'
import { headerValues, readParsedBody } from './protect/node-request.ts'
import { type KeyringOf, type LimiterOf, requireLimiter } from './protect/parts.ts'
import { refusedBehind } from './protect/passage.ts'
import { replayAnswer } from './protect/replay-answer.ts'
import { keyless, requireScopes } from './protect/require-scopes.ts'
import type { Valid, Verdict } from './verify/verdict.ts'

declare global {
  namespace Express {
    interface Request {
      /** The key of this request, once `requireKey` has let it pass. See `apiKeyOf`. */
      apiKey?: Valid
      /** With the option `shadow` of the keyring: the verdict on the key, which may be a refusal. */
      keyrail?: Verdict
    }
  }
}

export { apiKeyOf } from './protect/api-key-of.ts'
export type { IdempotentOptions, LimitRequirements }

/** Options of `requireKey`. */
export interface RequireKeyOptions extends GateOptions<Request>, Pick<RouteRequirements, 'cost'> {}

/**
 * Lets a request pass only with a valid key, and sets `req.apiKey`. For Express 4 and 5. Refuses with 401, 403 or 503 as
 * `application/problem+json`, and with 429 where the key has used up a limit. With a whole `Keyrail`, charges limits and counts
 * requests. Counts when the answer begins, so that requests refused by a later `limit` are not counted. If the key is `optional`, `requireScope`, `limit`, and `idempotent` for a request with an `Idempotency-Key` still
 * demand one.
 *
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a route open, or if `cost` is given
 *   without `limiter`
 */
export function requireKey(keyring: KeyringOf, { cost, ...options }: RequireKeyOptions = {}): RequestHandler {
  const gate = new Gate<Request>('requireKey', keyring, options)
  gate.checkRoute({ cost })
  return function checkKey(request, response, next) {
    const exchange = exchangeOf(request)
    const asked = {
      exchange,
      rawHeaders: request.rawHeaders,
      request,
      // By the setting `trust proxy` of the application.
      peer: () => request.ip,
      route: { cost },
      counted: (count: () => void) =>
        beforeAnswer(response, () => {
          if (!exchange.isHeldByLimit) count()
        }),
      answered: (work: () => void) => afterAnswer(response, work),
    }
    const judge = ({ key, headers, refusal, verdict }: Admission) => {
      if (isOver(response)) return
      if (refusal !== undefined) return send(request, response, refusal)
      const shown = exchange.show(request.apiKey, key)
      if (shown === undefined) delete request.apiKey
      else request.apiKey = shown
      if (verdict !== undefined) request.keyrail = verdict
      response.set(headers)
      next()
    }
    gate.admit(asked).then(judge).catch(next)
  }
}

/**
 * After `requireKey`: the key must have all of these scopes, else 403.
 *
 * Without `requireKey` before it, requests get 500, and a process warning explains the order.
 */
export function requireScope(...scopes: readonly string[]): RequestHandler {
  const judge = requireScopes(scopes)
  return function checkScope(request: Request, response, next) {
    const refusal = judge(exchangeOf(request), request.apiKey)
    if (refusal === undefined) next()
    else send(request, response, refusal)
  }
}

/**
 * After `requireKey`: charges the request to the limits of its key. Refuses with 429 if one is used up. Behind a guard that
 * charges to the same limiter, only what `cost` exceeds the cost of the guard.
 */
export function limit(given: LimiterOf, requirements: LimitRequirements = {}): RequestHandler {
  const limiter = requireLimiter(given)
  const cost = readRequirements('limit', requirements)
  const misplaced = warnMisplaced('limit')
  return function checkLimits(request: Request, response, next) {
    const { apiKey } = request
    const exchange = exchangeOf(request)
    if (exchange.isShadow) return next()
    if (!apiKey) return send(request, response, exchange.isAnonymous ? keyless(exchange) : misplaced())
    exchange.isHeldByLimit = true
    const judge = (verdict: LimitVerdict) => {
      if (isOver(response)) return
      if (!verdict.allowed) return send(request, response, refusedBehind(exchange, verdict.problem))
      exchange.isHeldByLimit = false
      response.set(verdict.headers)
      next()
    }
    chargeOnce(limiter, exchange, apiKey, cost).then(judge).catch(next)
  }
}

/**
 * After `requireKey` and the body parser: executes a request with an `Idempotency-Key` once, and answers a repetition with
 * the first answer. GET requests pass unchanged.
 */
export function idempotent(given: IdempotencyOf, options: IdempotentOptions = {}): RequestHandler {
  const idempotency = requireIdempotency(given, options)
  const misplaced = warnMisplaced('idempotent')
  return function claim(request: Request, response, next) {
    const { apiKey, method, originalUrl, rawHeaders } = request
    const exchange = exchangeOf(request)
    if (exchange.isShadow) return next()
    const idempotencyKeys = headerValues(rawHeaders, idempotencyHeader)
    if (!apiKey) {
      if (!exchange.isAnonymous) return send(request, response, misplaced())
      const claims = asksForClaim(method, idempotencyKeys.length > 0, options.required)
      return claims ? send(request, response, keyless(exchange)) : next()
    }
    const judge = async (verdict: IdempotencyVerdict | undefined) => {
      const claim = verdict?.verdict === 'execute' ? verdict.claim : undefined
      // The client is gone, so do not execute.
      if (isOver(response)) return claim?.release()
      if (verdict?.verdict === 'refuse')
        return send(request, response, refusedBehind(exchange, verdict.problem))
      if (verdict?.verdict === 'replay') return replayAnswer(response, verdict.answer)
      if (claim !== undefined) {
        const isKept = () => !exchange.isUnkept
        holdResponse(response, idempotency.maxBodyBytes, claim, { isKept })
      }
      next()
    }
    claimRequest(idempotency, {
      exchange,
      key: apiKey,
      method,
      target: originalUrl,
      idempotencyKeys,
      readBody: () => readParsedBody(request, request),
      ...options,
    })
      .then(judge)
      .catch(next)
  }
}

/** For `express.json({ verify: keepRawBody })`: `idempotent` then compares the bytes of bodies, not their parsed content. */
export function keepRawBody(request: object, _response: unknown, bytes: Uint8Array): void {
  Object.assign(request, { rawBody: bytes })
}

/** Answers the pages that ask for embed tokens, for `app.post`. */
export const embedHandler: MakeEmbedHandler<Request, RequestHandler> = (...given) => {
  const answer = answerTokens(...given)
  return (request, response, next) => {
    answer(request, request.method, headerOf(request))
      .then(token => isOver(response) || send(request, response, token))
      .catch(next)
  }
}

function send(request: Request, response: Response, { status, headers, body }: TokenAnswer): void {
  exchangeOf(request).isUnkept = true
  response.status(status).set(headers).send(JSON.stringify(body))
}
