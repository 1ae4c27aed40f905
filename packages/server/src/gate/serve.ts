import type {
  BodyOf,
  Method,
  QueryOf,
  RouteDeclaration,
  RouteName,
  RouteTable,
} from '@keyrail/contract/routes/declare'
import { NoBody, NoQuery } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import { bodyLimit, openBodyLimit } from '../platform/http/body/body.ts'
import type { BodyReader } from '../platform/http/body/reader.ts'
import { type Access, embedded, type KeyAccess, people } from './access.ts'
import type { EmbedPrincipal, PersonPrincipal, Principal, VendorPrincipal } from './principal.ts'
import type { Answer, Call, Route, SignedBody } from './route.ts'
import type { Signature } from './signature.ts'
import type { TargetKind } from './targets.ts'

/** What the service adds to a route of the contract. `Needs`: what its handler needs from outside. */
type Served<Needs, Of extends RouteDeclaration> = Parts<Needs, Of> & AccessPart<Of> & SignedPart<Needs, Of>

interface Parts<Needs, Of extends RouteDeclaration> {
  /** Ends a right, such as a revocation: it waits in a separate, small line. */
  readonly endsRights?: boolean
  /** What the parameter of the path names, where that is looked up before the call waits for a turn or a lock. */
  readonly target?: TargetKind
  /** Asked by machines every few seconds: only failures are logged at info. */
  readonly probe?: boolean
  /** The maximum length of the body in bytes. */
  readonly bodyLimit?: number
  /** Set by `readBy`. */
  readonly reader?: BodyReader<unknown, unknown>
  handle(deps: Needs, call: CallOf<Of>): Promise<Answer>
}

/** The permission of the contract becomes an access rule; a route without one that people do not call states its rule whole. */
type AccessPart<Of extends RouteDeclaration> = Of extends { permission: Permission }
  ? { readonly access: (permission: Permission) => KeyAccess }
  : Of extends { plane: 'open' | 'person' | 'embed' | 'codehost' }
    ? { readonly access?: never }
    : { readonly access: Access }

type SignedPart<Needs, Of extends RouteDeclaration> = Of extends { plane: 'codehost' }
  ? { readonly signed: Omit<SignedBody<Needs>, 'schema'> }
  : { readonly signed?: never }

type PrincipalOf<Of extends RouteDeclaration> = Of extends { plane: 'person' }
  ? PersonPrincipal
  : Of extends { plane: 'embed' }
    ? EmbedPrincipal
    : Of extends { permission: Permission }
      ? VendorPrincipal
      : Principal

type CallOf<Of extends RouteDeclaration> = Of extends { plane: 'codehost' }
  ? Call<Principal, unknown, Buffer> & { readonly signature: Signature }
  : Call<PrincipalOf<Of>, QueryOf<Of>, BodyOf<Of>>

/**
 * Serves the routes of a room: each that the contract declares, in its order, and no other. `Needs`: what the handlers need from
 * outside.
 */
export const servedWith =
  <Needs>() =>
  <const Table extends RouteTable>(
    table: Table,
    parts: { readonly [Name in keyof Table & RouteName]: Served<Needs, Table[Name]> },
  ): Route<Needs>[] =>
    Object.entries(table).map(([name, declared]) =>
      routeOf(name as RouteName, declared, parts[name as keyof Table & RouteName] as AnyServed<Needs>),
    )

type AnyServed<Needs> = Parts<Needs, RouteDeclaration> & {
  readonly access?: Access | ((permission: Permission) => KeyAccess)
  readonly signed?: Omit<SignedBody<Needs>, 'schema'>
}

/** For a handler that takes something other than the parsed body; a large body is read off the event loop. */
export const readBy = <Needs, Body, Read>(
  reader: BodyReader<Body, Read>,
  handle: (deps: Needs, call: Call<VendorPrincipal, unknown, Read>) => Promise<Answer>,
) => ({ reader: reader as BodyReader<unknown, unknown>, handle: handle as never })

function routeOf<Needs>(name: RouteName, declared: RouteDeclaration, served: AnyServed<Needs>): Route<Needs> {
  const [method, path] = name.split(' ') as [Method, string]
  const { plane, body, answerType, lines } = declared
  const access = accessOf(declared, served.access)
  const isSigned = served.signed !== undefined
  return {
    method,
    path,
    operation: declared.operation,
    summary: declared.summary,
    description: declared.description,
    plane,
    access,
    query: declared.query ?? NoQuery,
    body: isSigned ? null : (body ?? (method === 'GET' ? null : NoBody)),
    signed: served.signed === undefined || body === undefined ? null : { ...served.signed, schema: body },
    answer: {
      status: declared.status ?? 200,
      schema: declared.answer,
      ...(answerType !== undefined && { type: answerType }),
      ...(lines !== undefined && { lines }),
    },
    refusals: [...(declared.refusals ?? []), ...refusalsOf(declared)],
    replayable: declared.replayable ?? false,
    endsRights: served.endsRights ?? false,
    target: served.target ?? null,
    conditional: declared.conditional ?? false,
    probe: served.probe ?? false,
    bodyLimit: served.bodyLimit ?? (access.open ? openBodyLimit : bodyLimit),
    reader: served.reader ?? null,
    handle: (deps, call) => served.handle(deps, call as never),
  }
}

function accessOf(
  { plane, permission, scope, forVerified }: RouteDeclaration,
  access: AnyServed<never>['access'],
): Access {
  if (plane === 'open' || plane === 'codehost') return { open: true }
  if (plane === 'embed') return scope === undefined ? embedded : { ...embedded, embedScope: scope }
  if (plane === 'person') {
    const { whileUnverified, ...verified } = people
    return forVerified ? verified : { ...verified, whileUnverified }
  }
  if (typeof access === 'object') return access
  if (access === undefined || permission === undefined) throw new Error('a route without an access rule')
  return access(permission)
}

/** The token may lack the origin of the page, or the scope. */
const refusalsOf = ({ plane, scope }: RouteDeclaration) => {
  if (plane !== 'embed') return []
  return scope === undefined
    ? (['origin_not_allowed'] as const)
    : (['origin_not_allowed', 'insufficient_scope'] as const)
}
