/**
 * Who asks, and may they. `bearer.ts` reads the header, `authenticate.ts` makes a `principal.ts` of it with the
 * statement of `lookup.ts` (`hot-credentials.ts` reuses a look-up for a moment, `read-head.ts` is what a poll reads with
 * it), `authenticate-embed.ts` of an embed token. `caller.ts` is on whose behalf a room works. `access.ts` is the rule
 * of a route, `targets.ts` hides what the caller may not see, `stated-workspace.ts` compares the workspace of the URL,
 * `right.ts` holds a right until the commit, `signature.ts` reads signed bodies, `replay-key.ts` names a retry.
 * `turn-place.ts` gives a caller its turn by `makers.ts` and `made.ts`, `in-flight.ts` bounds its requests,
 * `workspace-facts.ts` are the facts for that. `serve.ts` joins the declaration of a route with access and handler,
 * `listed-calls.ts` answers many calls of one request, `room.ts` is the type of a room, `common-needs.ts` what most rooms
 * need, `scope-warnings.ts` warns of scopes.
 */

import type { ErrorCode, Problem } from '@keyrail/contract/errors'
import type { Method, Plane } from '@keyrail/contract/routes/declare'
import type { TSchema } from 'typebox'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import type { Db } from '../platform/db/db.ts'
import type { ReplayKey } from '../platform/db/replay.ts'
import type { BodyReader } from '../platform/http/body/reader.ts'
import type { Client } from '../platform/http/client.ts'
import type { Refusal } from '../platform/refusal.ts'
import type { Access } from './access.ts'
import type { Principal } from './principal.ts'
import type { Signature, SignatureHeaders } from './signature.ts'
import type { TargetKind } from './targets.ts'

/** A request as a handler gets it: parsed, bounded and authorized. */
export interface Call<P, Query, Body> {
  principal: P
  /** The only parameter of the path: a well-formed UUID in lower case, or an empty string. */
  id: string
  query: Query
  body: Body
  /** The signature of the body, if the route takes a signed one; not verified yet. */
  signature: Signature | null
  /** When it must be answered. Pass it to every lane. */
  deadline: Deadline
  /** The database, bound to this call: its deadline, its caller's right and the queue in which it waits. */
  readonly db: Db
  /** Reserves the memory of a large response; throws `unavailable` when there is none left. */
  holdBytes(bytes: number): void
  /** Set when the client sent an `Idempotency-Key`. */
  replay: ReplayKey | null
  /** A header by its name in lower case. Not the credential, which the principal represents. */
  header(
    name: 'accept' | 'accept-encoding' | 'if-none-match' | 'keyrail-node' | 'prefer' | 'user-agent',
  ): string | undefined
  /** The address and the user agent, as they are stored. */
  client: Client
  /** The error that a refusal of this request is answered with, for an answer that has several. */
  problemOf(refusal: Refusal): Problem
  /** Aborted when the client disconnects, for handlers that wait. */
  hangUp(): AbortSignal
  /** The response waits from now on because the client asked for that, so its duration is no figure of the service. */
  hold(): void
  /**
   * For handlers that wait: the credential may have ended meanwhile. The time of the call starts again with this.
   * @throws {Refusal} what a new request would be answered with.
   */
  judgeAgain(): Promise<void>
}

export interface Answer {
  /** A value to serialise as JSON, or finished JSON; `JsonLines` where the client asked for lines. */
  body: unknown
  /** Additional headers; `cache-control` is `no-store` by default. */
  headers?: Record<string, string>
  /** Unchanged since the version of the client. No body is sent. */
  status?: 304
  /** Set when this is the stored response to an earlier request with the same `Idempotency-Key`. */
  replayed?: { status: number }
}

/** A signed body and its signature headers. The schema is only for the API reference. */
export interface SignedBody<Needs> {
  readonly headers: SignatureHeaders
  readonly schema: TSchema
  /**
   * Runs before the body is read, for any client.
   * @throws {Refusal} when no body could make this the signature of a known sender.
   */
  readonly admit: (deps: Needs, signature: Signature) => Promise<void>
}

/**
 * A route as data: everything that the router, the gate, OpenAPI and the tests over all routes need. `Needs`: what its handler
 * needs from outside. Without it the route can be read, but not called.
 */
export interface Route<Needs = never> {
  method: Method
  path: string
  /** `operationId` in OpenAPI. */
  operation: string
  /** A verb and a noun: the title of the operation in the reference. */
  summary: string
  /** What the operation does, in one to three sentences. */
  description: string
  /** With `hot`, a cached look-up of the credential may be used. */
  plane: Plane
  access: Access
  query: TSchema
  /** Null for a route that reads no body, such as every GET. */
  body: TSchema | null
  /** Set for a signed body of any content type: the handler gets its bytes, and `body` is null. */
  signed: SignedBody<Needs> | null
  /** `type` is set when it is not JSON; `lines` when a client may also have it in lines, of which it is the last. */
  answer: { status: 200 | 201 | 202; schema: TSchema; type?: string; lines?: TSchema }
  /** Error codes in addition to those of every route of its kind. */
  refusals: readonly ErrorCode[]
  /** Accepts `Idempotency-Key`. */
  replayable: boolean
  /** Ends a right, such as a revocation: it waits in a separate, small line. */
  endsRights: boolean
  /** What the `:id` names, where that is looked up before the call waits for a turn or a lock. */
  target: TargetKind | null
  /** Asked by machines every few seconds: only failures are logged at info. */
  probe: boolean
  /** Answers with an `ETag`, and with 304 to a client that sends it as `If-None-Match` while nothing has changed. */
  conditional: boolean
  /** The maximum length of the body in bytes. */
  bodyLimit: number
  /** Set when the handler takes something other than the parsed body; a large body is read off the event loop. */
  reader: BodyReader<unknown, unknown> | null
  readonly handle: (deps: Needs, call: Call<Principal, never, never>) => Promise<Answer>
}

/** The parameter of a path, such as `:id`; undefined when it has none. */
export const parameterOf = (path: string): string | undefined => /:\w+/.exec(path)?.[0]
