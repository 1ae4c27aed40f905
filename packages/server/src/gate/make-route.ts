import type { ErrorCode } from '@keyrail/contract/errors'
import { NoBody, NoQuery, type ReadQuery } from '@keyrail/contract/shared'
import type { Static, TSchema } from 'typebox'
import { bodyLimit, openBodyLimit } from '../platform/http/body.ts'
import type { BodyReader } from '../platform/http/body-reader.ts'
import { type Access, embedded, people } from './access.ts'
import type { EmbedPrincipal, PersonPrincipal, Principal, VendorPrincipal } from './principal.ts'
import type { Answer, Call, Method, Route, SignedBody } from './route.ts'
import type { Signature } from './signature.ts'
import type { TargetKind } from './targets.ts'

interface RouteParts<Needs, Query extends TSchema, Body extends TSchema, P, Read = Static<Body>> {
  operation: string
  summary: string
  description?: string
  access: Access
  query?: Query
  body?: Body
  status?: 200 | 201 | 202
  answer: TSchema
  answerType?: string
  lines?: TSchema
  refusals?: readonly ErrorCode[]
  replayable?: boolean
  endsRights?: boolean
  target?: TargetKind
  conditional?: boolean
  probe?: boolean
  bodyLimit?: number
  reader?: BodyReader<Static<Body>, Read>
  handle(deps: Needs, call: Call<P, ReadQuery<Query>, Read>): Promise<Answer>
}

/** Functions that make the routes of a room. `Needs`: what its handlers need from outside. */
export const routesFor = <Needs>() => ({
  /** A vendor route: its principal has a workspace. */
  vendorRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
    method: Method,
    path: string,
    parts: RouteParts<Needs, Query, Body, VendorPrincipal>,
  ): Route<Needs> {
    return route(method, path, parts)
  },

  /** A route for the signed-in person's own account. `forVerified`: it reaches further. */
  personRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
    method: Method,
    path: string,
    parts: Omit<RouteParts<Needs, Query, Body, PersonPrincipal>, 'access'> & { forVerified?: true },
  ): Route<Needs> {
    const { whileUnverified, ...forVerified } = people
    const access = parts.forVerified ? forVerified : { ...forVerified, whileUnverified }
    return { ...route(method, path, { ...parts, access }), plane: 'person' }
  },

  /** A route for embed tokens, which pages of other origins call. `scope`: the scope that the token needs, if any. */
  embedRoute<Query extends TSchema = TSchema, Body extends TSchema = TSchema>(
    method: Method,
    path: string,
    parts: Omit<RouteParts<Needs, Query, Body, EmbedPrincipal>, 'access'> & {
      scope: 'keys:read' | 'keys:write' | null
    },
  ): Route<Needs> {
    const { scope, refusals = [] } = parts
    const access = scope === null ? embedded : { ...embedded, embedScope: scope }
    const codes =
      scope === null
        ? (['origin_not_allowed'] as const)
        : (['origin_not_allowed', 'insufficient_scope'] as const)
    return { ...route(method, path, { ...parts, access, refusals: [...refusals, ...codes] }), plane: 'embed' }
  },

  /** A route of the policy feed, which a vendor's servers read. */
  feedRoute<Query extends TSchema = TSchema>(
    path: string,
    parts: RouteParts<Needs, Query, TSchema, VendorPrincipal>,
  ): Route<Needs> {
    return { ...route('GET', path, parts), plane: 'feed', conditional: true }
  },

  /** A route that a vendor's servers call with each request of their customers. */
  hotRoute<Body extends TSchema = TSchema, Read = Static<Body>>(
    path: string,
    parts: RouteParts<Needs, TSchema, Body, VendorPrincipal, Read>,
  ): Route<Needs> {
    return { ...route('POST', path, parts), plane: 'hot' }
  },

  /** A route on which a vendor's servers report usage. */
  reportRoute<Body extends TSchema = TSchema>(
    path: string,
    parts: RouteParts<Needs, TSchema, Body, VendorPrincipal>,
  ): Route<Needs> {
    return { ...route('POST', path, parts), plane: 'report' }
  },

  /** A route that needs no credential. */
  openRoute<Body extends TSchema = TSchema>(
    method: Method,
    path: string,
    parts: Omit<RouteParts<Needs, TSchema, Body, Principal>, 'access'>,
  ): Route<Needs> {
    return { ...route(method, path, { ...parts, access: { open: true } }), plane: 'open' }
  },

  /** A route without a credential: the signature over the bytes of the body authenticates the request. */
  signedRoute(
    path: string,
    signed: SignedBody<Needs>,
    parts: Omit<RouteParts<Needs, TSchema, TSchema, Principal>, 'access' | 'body' | 'handle'> & {
      handle(deps: Needs, call: Call<Principal, unknown, Buffer> & { signature: Signature }): Promise<Answer>
    },
  ): Route<Needs> {
    return {
      ...route('POST', path, { ...parts, access: { open: true }, handle: parts.handle as never }),
      plane: 'codehost',
      body: null,
      signed,
    }
  },

  /** A route that a credential without a workspace may call. */
  route<Query extends TSchema, Body extends TSchema, P extends Principal>(
    method: Method,
    path: string,
    parts: RouteParts<Needs, Query, Body, P>,
  ): Route<Needs> {
    return route(method, path, parts)
  },
})

/** Fills in what most routes leave out. */
function route<Needs, Query extends TSchema, Body extends TSchema, P extends Principal, Read = Static<Body>>(
  method: Method,
  path: string,
  parts: RouteParts<Needs, Query, Body, P, Read>,
): Route<Needs> {
  return {
    method,
    path,
    operation: parts.operation,
    summary: parts.summary,
    description: parts.description ?? '',
    plane: 'vendor',
    access: parts.access,
    query: parts.query ?? NoQuery,
    body: parts.body ?? (method === 'GET' ? null : NoBody),
    signed: null,
    answer: {
      status: parts.status ?? 200,
      schema: parts.answer,
      ...(parts.answerType !== undefined && { type: parts.answerType }),
      ...(parts.lines !== undefined && { lines: parts.lines }),
    },
    refusals: parts.refusals ?? [],
    replayable: parts.replayable ?? false,
    endsRights: parts.endsRights ?? false,
    target: parts.target ?? null,
    conditional: parts.conditional ?? false,
    probe: parts.probe ?? false,
    bodyLimit: parts.bodyLimit ?? (parts.access.open ? openBodyLimit : bodyLimit),
    reader: (parts.reader as BodyReader<unknown, unknown> | undefined) ?? null,
    handle: (deps, call) => parts.handle(deps, call as never),
  }
}
