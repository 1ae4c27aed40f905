import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../errors.ts'
import type { ReadQuery } from '../shared.ts'
import type { Permission } from '../vendor/permissions.ts'

/**
 * The routes of the service, a file for each noun: what a client sends and gets back, as data. The service adds who may call a
 * route and what it does; OpenAPI and the clients of this repository read the same tables.
 */

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A method and a path, such as `GET /v1/keys/:id`. It identifies a route. */
export type RouteName = `${Method} /${string}`

/**
 * Who calls a route. `open`: any client. `person`: a signed-in person, for their own account. `vendor`: a backend or a person of
 * a workspace. `feed`: nodes that follow the policy. `hot`: a backend, with each request of a customer. `report`: nodes that
 * report usage. `embed`: a page with an embed token. `codehost`: the sender of a signed body.
 */
export type Plane = 'open' | 'person' | 'vendor' | 'feed' | 'hot' | 'report' | 'embed' | 'codehost'

export interface RouteDeclaration {
  readonly plane: Plane
  /** `operationId` in OpenAPI. */
  readonly operation: string
  /** A verb and a noun: the title of the operation in the reference. */
  readonly summary: string
  /** What the operation does, in one to three sentences. */
  readonly description: string
  /** What a secret key with permissions needs. Without it, the route accepts no secret key. */
  readonly permission?: Permission
  /** What an embed token needs, beyond being one. */
  readonly scope?: 'keys:read' | 'keys:write' | 'network:write'
  /** Refuses a person without a verified address where sign-up is not open, because it reaches beyond their account. */
  readonly forVerified?: true
  readonly query?: TSchema
  readonly body?: TSchema
  /** 200 by default. */
  readonly status?: 200 | 201 | 202
  readonly answer: TSchema
  /** The media type of an answer that is not JSON. */
  readonly answerType?: string
  /** The lines that a client may have in place of one answer, which is then the last of them. */
  readonly lines?: TSchema
  /** A line before the last. */
  readonly step?: TSchema
  /** Error codes in addition to those of every route of its plane. */
  readonly refusals?: readonly ErrorCode[]
  /** Accepts `Idempotency-Key`. */
  readonly replayable?: true
  /** Answers with an `ETag`, and with 304 to a client that sends it as `If-None-Match` while nothing has changed. */
  readonly conditional?: true
}

export type RouteTable = Readonly<Record<RouteName, RouteDeclaration>>

export const declareRoutes = <const Table extends RouteTable>(table: Table): Table => table

/** The body as it is sent; `unknown` where the route declares none. */
export type BodyOf<Route extends RouteDeclaration> = Route extends { body: infer Body extends TSchema }
  ? Static<Body>
  : unknown

/** The query as the service reads it, with its defaults; `unknown` where the route declares none. */
export type QueryOf<Route extends RouteDeclaration> = Route extends { query: infer Query extends TSchema }
  ? ReadQuery<Query>
  : unknown
