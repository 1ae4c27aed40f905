import type { Request, RequestHandler, Response } from 'express'
import { readCredential } from './credential.ts'
import { toHttpRefusal } from './http-refusal.ts'
import type { Keyring } from './keyring.ts'
import { type Refused, refused, type Valid } from './verdict.ts'

declare global {
  namespace Express {
    interface Request {
      /** The key of this request: there once `requireKey` has let it pass. */
      apiKey?: Valid
    }
  }
}

export interface RequireKeyOptions {
  /** Scopes that the key must have, all of them. */
  scopes?: readonly string[] | undefined
  /** Where the key is: `authorization` (as `Bearer <key>`) unless given, else a header with the bare key. */
  header?: string | undefined
}

/**
 * Lets only requests with a valid key pass, and tells the route whose it is: `req.apiKey`. Works with Express 4
 * and 5. Refusals are answered here: 401, 403 or 503 as `application/problem+json`.
 *
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
 */
export function requireKey(
  keyring: Pick<Keyring, 'verify'>,
  { scopes = [], header = 'authorization' }: RequireKeyOptions = {},
): RequestHandler {
  if (typeof keyring?.verify !== 'function') throw new TypeError('requireKey takes a keyring')
  if (typeof header !== 'string' || !/^[\w-]+$/.test(header))
    throw new TypeError('header must be the name of a header')
  const required = requireScopeList(scopes)
  const name = header.toLowerCase()
  return function checkKey(request, response, next) {
    const key = readCredential(request.rawHeaders, name)
    const verdict = key === null ? refused.malformed_key : keyring.verify(key, { scopes: required })
    if (!verdict.valid) return refuse(response, verdict, { scopes: required, header: name })
    request.apiKey = verdict
    next()
  }
}

/**
 * For a route behind `requireKey`: the key must also have these scopes, all of them.
 *
 * Without `requireKey` before it every request is refused.
 */
export function requireScope(...scopes: readonly string[]): RequestHandler {
  const required = requireScopeList(scopes)
  if (required.length === 0) throw new TypeError('requireScope takes at least one scope')
  return function checkScope({ apiKey }: Request, response, next) {
    if (!apiKey) return refuse(response, refused.missing_key, {})
    if (!required.every(scope => apiKey.scopes.includes(scope))) {
      return refuse(response, refused.insufficient_scope, { scopes: required })
    }
    next()
  }
}

function refuse(
  response: Response,
  verdict: Refused,
  more: { scopes?: readonly string[]; header?: string },
): void {
  const { status, headers, body } = toHttpRefusal(verdict, more)
  response.status(status).set(headers).send(JSON.stringify(body))
}

function requireScopeList(scopes: readonly string[]): readonly string[] {
  if (!Array.isArray(scopes) || !scopes.every(scope => typeof scope === 'string' && scope !== '')) {
    throw new TypeError('scopes must be an array of scope names')
  }
  return Object.freeze([...scopes])
}
