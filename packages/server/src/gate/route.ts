import type { ErrorCode } from '@keyrail/contract/errors'
import { NoBody, NoQuery } from '@keyrail/contract/shared'
import type { Static, TSchema } from 'typebox'
import type { Deps } from '../deps.ts'
import type { ReplayKey } from '../platform/db/replay.ts'
import { bodyLimit, openBodyLimit } from '../platform/http/body.ts'
import type { BodyReader } from '../platform/http/body-reader.ts'
import type { Client } from '../platform/http/client.ts'
import { type Access, embedded, people } from './access.ts'
import type { EmbedPrincipal, PersonPrincipal, Principal, VendorPrincipal } from './principal.ts'
import type { Signature, SignatureHeaders } from './signature.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** What a handler is given of a request: parsed, bounded and allowed. */
export interface Call<P, Query, Body> {
  principal: P
  /** The one parameter of the path: a well-formed UUID in lower case, or an empty string. */
  id: string
  query: Query
  body: Body
  /** Of the body, where the route takes a signed one; not verified yet. */
  signature: Signature | null
  /** When it must be answered, on the clock of `performance.now()`. */
  until: number
  /** Takes the memory that a large answer needs; `unavailable` when there is none left. */
  holdBytes(bytes: number): void
  /** Set when the caller sent an `Idempotency-Key`. */
  replay: ReplayKey | null
  /** A header by its name in lower case. Never the credential: what that says is the principal. */
  header(name: 'accept-encoding' | 'if-none-match' | 'prefer' | 'user-agent'): string | undefined
  /** The caller's address, past as many proxies as are trusted. */
  ip: string
  /** The same with the user agent, as both are kept. */
  client: Client
  /** Aborted when the caller hangs up, for handlers that wait. */
  hangUp(): AbortSignal
  /**
   * For handlers that wait: the credential may have ended meanwhile.
   * @throws {Refusal} what a new request would be answered with.
   */
  judgeAgain(): Promise<void>
}

export interface Answer {
  /** What becomes JSON, or JSON already made. */
  body: unknown
  /** Beside those that every answer has; `cache-control` is `no-store` when it is not named. */
  headers?: Record<string, string>
  /** Nothing has changed since what the caller holds. The body is not sent. */
  status?: 304
  /** Set when this is the stored answer of an earlier request with the same `Idempotency-Key`. */
  replayed?: { status: number }
}

/** What is signed, and how. The schema tells what the bytes say, for the API reference alone. */
export interface SignedBody {
  readonly headers: SignatureHeaders
  readonly schema: TSchema
  /**
   * Before the body is read, from whoever sends it.
   * @throws {Refusal} where no body can make the signature one of a known sender.
   */
  admit(deps: Deps, signature: Signature): Promise<void>
}

/** A route as data: all that the router, the gate, OpenAPI and the tests that walk the list need to know. */
export interface Route {
  method: Method
  path: string
  /** `operationId` in OpenAPI. */
  operation: string
  summary: string
  /** `hot`: asked once per request of a vendor's customers, so a look-up of the last seconds may stand for its credential. */
  plane: 'open' | 'person' | 'vendor' | 'feed' | 'hot' | 'embed' | 'report' | 'webhook'
  access: Access
  query: TSchema
  /** Null for a route that reads none: the body of a GET means nothing. */
  body: TSchema | null
  /** Where it takes a signed body, of whatever content type: the handler is given its bytes, and `body` is null. */
  signed: SignedBody | null
  /** `type` where it is not JSON. */
  answer: { status: 200 | 201 | 202; schema: TSchema; type?: string }
  /** Codes beyond those that every route of its kind can answer with. */
  refusals: readonly ErrorCode[]
  /** Takes `Idempotency-Key`. */
  replayable: boolean
  /** Bytes that a body may have. */
  bodyLimit: number
  /** Where the handler takes something else than the body, made off the event loop when the body is large. */
  reader: BodyReader<unknown, unknown> | null
  handle(deps: Deps, call: Call<Principal, never, never>): Promise<Answer>
}

interface RouteParts<Query extends TSchema, Body extends TSchema, P, Read = Static<Body>> {
  operation: string
  summary: string
  access: Access
  query?: Query
  body?: Body
  status?: 200 | 201 | 202
  answer: TSchema
  answerType?: string
  refusals?: readonly ErrorCode[]
  replayable?: boolean
  bodyLimit?: number
  reader?: BodyReader<Static<Body>, Read>
  handle(deps: Deps, call: Call<P, Static<Query>, Read>): Promise<Answer>
}

/** A route of the vendor plane: its principal acts in a workspace. */
export function vendorRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
  method: Method,
  path: string,
  parts: RouteParts<Query, Body, VendorPrincipal>,
): Route {
  return route(method, path, parts)
}

/** A route of a person, about themselves. */
export function personRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
  method: Method,
  path: string,
  parts: Omit<RouteParts<Query, Body, PersonPrincipal>, 'access'>,
): Route {
  return { ...route(method, path, { ...parts, access: people }), plane: 'person' }
}

/** A route of the embed plane, which pages of other origins call. `scope`: what the token must be for, if anything. */
export function embedRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
  method: Method,
  path: string,
  parts: Omit<RouteParts<Query, Body, EmbedPrincipal>, 'access'> & {
    scope: 'keys:read' | 'keys:write' | null
  },
): Route {
  const { scope, refusals = [] } = parts
  const access = scope === null ? embedded : { ...embedded, embedScope: scope }
  const codes =
    scope === null
      ? (['origin_not_allowed'] as const)
      : (['origin_not_allowed', 'insufficient_scope'] as const)
  return { ...route(method, path, { ...parts, access, refusals: [...refusals, ...codes] }), plane: 'embed' }
}

/** A route of the policy feed, which a vendor's own servers read. */
export function feedRoute<Query extends TSchema = TSchema>(
  path: string,
  parts: RouteParts<Query, TSchema, VendorPrincipal>,
): Route {
  return { ...route('GET', path, parts), plane: 'feed' }
}

/** A route that a vendor's own servers call on each request of their customers. */
export function hotRoute<Body extends TSchema = TSchema, Read = Static<Body>>(
  path: string,
  parts: RouteParts<TSchema, Body, VendorPrincipal, Read>,
): Route {
  return { ...route('POST', path, parts), plane: 'hot' }
}

/** A route by which a vendor's own servers tell what they have counted. */
export function reportRoute<Body extends TSchema = TSchema>(
  path: string,
  parts: RouteParts<TSchema, Body, VendorPrincipal>,
): Route {
  return { ...route('POST', path, parts), plane: 'report' }
}

/** A route that needs no credential. */
export function openRoute<Body extends TSchema = TSchema>(
  method: Method,
  path: string,
  parts: Omit<RouteParts<TSchema, Body, Principal>, 'access'>,
): Route {
  return { ...route(method, path, { ...parts, access: { open: true } }), plane: 'open' }
}

/** A route that takes no credential: what authorises a request is the signature over the bytes of its body. */
export function signedRoute(
  path: string,
  signed: SignedBody,
  parts: Omit<RouteParts<TSchema, TSchema, Principal>, 'access' | 'body' | 'handle'> & {
    handle(deps: Deps, call: Call<Principal, unknown, Buffer> & { signature: Signature }): Promise<Answer>
  },
): Route {
  return {
    ...route('POST', path, { ...parts, access: { open: true }, handle: parts.handle as never }),
    plane: 'webhook',
    body: null,
    signed,
  }
}

/** The parameter of a path, such as `:id`; undefined where it has none. */
export const parameterOf = (path: string): string | undefined => /:\w+/.exec(path)?.[0]

/** A route that a credential without a workspace may call. */
export function route<Query extends TSchema, Body extends TSchema, P extends Principal, Read = Static<Body>>(
  method: Method,
  path: string,
  parts: RouteParts<Query, Body, P, Read>,
): Route {
  return {
    method,
    path,
    operation: parts.operation,
    summary: parts.summary,
    plane: 'vendor',
    access: parts.access,
    query: parts.query ?? NoQuery,
    body: parts.body ?? (method === 'GET' ? null : NoBody),
    signed: null,
    answer: {
      status: parts.status ?? 200,
      schema: parts.answer,
      ...(parts.answerType !== undefined && { type: parts.answerType }),
    },
    refusals: parts.refusals ?? [],
    replayable: parts.replayable ?? false,
    bodyLimit: parts.bodyLimit ?? (parts.access.open ? openBodyLimit : bodyLimit),
    reader: (parts.reader as BodyReader<unknown, unknown> | undefined) ?? null,
    handle: (deps, call) => parts.handle(deps, call as never),
  }
}
