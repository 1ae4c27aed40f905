import type { Request, RequestHandler, Response } from 'express'
import { refuseUnknown } from './http/connection-options.ts'
import type { HttpProblem } from './http/problem.ts'
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
import { readCredential } from './protect/credential.ts'
import { type GateOptions, readHeaderName, readScopes } from './protect/gate.ts'
import { holdResponse, replayAnswer } from './protect/hold-response.ts'
import { tellMisplaced } from './protect/misplaced.ts'
import { headerValues, readParsedBody } from './protect/node-request.ts'
import { toHttpRefusal } from './protect/refusal.ts'
import { isFirstCount } from './usage/once.ts'
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
export interface RequireKeyOptions extends Omit<GateOptions, 'limiter'> {}

const known: { readonly [Name in keyof Required<RequireKeyOptions>]: true } = {
  scopes: true,
  header: true,
  usage: true,
}

/** Requests that a `limit` has not let pass, or not yet. They are not counted. */
const notLetPass = new WeakSet<Request>()

/** Answers that refuse, perhaps behind `idempotent`: the next request may be let pass, so they are not kept. */
const refusals = new WeakSet<Response>()

/**
 * Lets only requests with a valid key pass, and tells the route whose it is: `req.apiKey`. Works with Express 4
 * and 5. Refusals are answered here: 401, 403 or 503 as `application/problem+json`. A request is counted when its
 * answer begins, so that one which a `limit` behind this refuses is not.
 *
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  options: RequireKeyOptions = {},
): RequestHandler {
  if (typeof keyring?.verify !== 'function') throw new TypeError('requireKey takes a keyring')
  refuseUnknown('requireKey', options, known)
  const { scopes = [], header, usage } = options
  if (usage !== undefined && typeof usage.count !== 'function') {
    throw new TypeError('usage must be made by createUsageReporter')
  }
  const required = readScopes(scopes)
  const name = readHeaderName(header)
  return function checkKey(request, response, next) {
    const { key, fault } = readCredential(request.rawHeaders, name)
    const verdict = fault === undefined ? keyring.verify(key, { scopes: required }) : refused.malformed_key
    if (!verdict.valid) {
      return sendProblem(response, toHttpRefusal(verdict, { scopes: required, header: name, fault }))
    }
    request.apiKey = verdict
    if (usage !== undefined && isFirstCount(usage, request)) {
      beforeAnswer(response, () => {
        if (!notLetPass.has(request)) usage.count(verdict)
      })
    }
    next()
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
  return function checkScope({ apiKey }: Request, response, next) {
    if (!apiKey) return sendProblem(response, misplaced())
    if (!required.every(scope => apiKey.scopes.includes(scope))) {
      return sendProblem(response, toHttpRefusal(refused.insufficient_scope, { scopes: required }))
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
    if (!apiKey) return sendProblem(response, misplaced())
    notLetPass.add(request)
    const judge = (verdict: LimitVerdict) => {
      if (isOver(response)) return
      if (!verdict.allowed) return sendProblem(response, verdict.problem)
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
    if (!apiKey) return sendProblem(response, misplaced())
    const judge = async (verdict: IdempotencyVerdict | undefined) => {
      const claim = verdict?.verdict === 'execute' ? verdict.claim : undefined
      // Nobody is left to hear what would be done.
      if (isOver(response)) return claim?.release()
      if (verdict?.verdict === 'refuse') return sendProblem(response, verdict.problem)
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

function sendProblem(response: Response, { status, headers, body }: HttpProblem): void {
  refusals.add(response)
  response.status(status).set(headers).send(JSON.stringify(body))
}
