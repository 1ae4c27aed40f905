import type { Routes } from '@keyrail/contract/routes/all'
import type { Static, TSchema } from 'typebox'
import { readUuid } from '../http/option-values.ts'
import { type Listing, listOf } from './list.ts'
import { noTenant, readExternalId } from './named-tenant.ts'
import type { Camel } from './names.ts'
import type { AdminRequest, CallOptions, KeyedOptions } from './request.ts'

/**
 * The routes of the contract, as types only: a call names its route, and the compiler compares the rest of the call with the
 * declaration of the route. The published package needs no contract.
 */
export type RouteName =
  | { [Name in keyof Routes]: Routes[Name] extends { plane: 'vendor' } ? Name : never }[keyof Routes]
  | 'POST /v1/keys/verify'

type Answer<Name extends RouteName> = Camel<Static<Routes[Name]['answer']>>

type Named<Name> = Name extends `${string}/:${string}` ? { id: string } : unknown

type Queried<Route> = Route extends { query: infer Query extends TSchema }
  ? { query?: QueryFields<Camel<Static<Query>>> | undefined }
  : unknown

/** A query is sent as text, so a field with `true` and `false` may be a boolean. */
type QueryFields<Query> = {
  [Field in keyof Query]?: Query[Field] | ('true' extends Query[Field] ? boolean : never) | undefined
}

type Bodied<Route> = Route extends { body: infer Body extends TSchema }
  ? { body: Camel<Static<Body>> }
  : unknown

/** What tells the SDK how the route answers, and whether repeating the call is safe only with an `Idempotency-Key`. */
type Declared<Route> = (Route extends { status: infer Status } ? { status: Status } : { status?: never }) &
  (Route extends { replayable: true }
    ? { keyed: true; options: KeyedOptions | undefined }
    : { keyed?: never; options: CallOptions | undefined })

type ObjectOf<Of> = Of extends { object: infer Text } ? Text : never

type Input<Name extends RouteName> = { object: ObjectOf<Answer<Name>> } & Named<Name> &
  Queried<Routes[Name]> &
  Bodied<Routes[Name]> &
  Declared<Routes[Name]>

type CallRoute = <Name extends RouteName>(name: Name, input: Input<Name>) => Promise<Answer<Name>>

type ListName = {
  [Name in RouteName]: Static<Routes[Name]['answer']> extends { object: 'list' } ? Name : never
}[RouteName]

type Item<Name extends ListName> = Answer<Name> extends { data: (infer Row)[] } ? Row : never

type Name<Route extends object> = {
  [Each in RouteName]: Routes[Each] extends Route ? Each : never
}[RouteName]

type QueryOf<Each extends RouteName> = Queried<Routes[Each]> extends { query?: infer Query } ? Query : never
type BodyOf<Each extends RouteName> = Bodied<Routes[Each]> extends { body: infer Body } ? Body : never

/** Routes that answer with 200, and take no `Idempotency-Key`. */
type PlainName = Exclude<RouteName, Name<{ status: 201 }> | Name<{ replayable: true }>>
type WithId = `${string}/:${string}`
type WithBody = Name<{ body: TSchema }>

/** Functions that call routes by their names, one for each list of parameters. Each rejects an invalid id, which could change the path. */
export interface Calls {
  call: CallRoute
  list<Each extends ListName>(
    name: Each,
  ): Each extends WithId
    ? (id: string, query?: QueryOf<Each>, options?: CallOptions) => Listing<Item<Each>>
    : (query?: QueryOf<Each>, options?: CallOptions) => Listing<Item<Each>>
  /** For a route that makes a resource, and replays its answer. */
  create<Each extends Name<{ status: 201; replayable: true }>>(
    name: Each,
    object: ObjectOf<Answer<Each>>,
  ): (body: BodyOf<Each>, options?: KeyedOptions) => Promise<Answer<Each>>
  /** For a route with a query, and without an id. */
  read<Each extends Exclude<Extract<PlainName, Name<{ query: TSchema }>>, WithId | WithBody | ListName>>(
    name: Each,
    object: ObjectOf<Answer<Each>>,
  ): (query?: QueryOf<Each>, options?: CallOptions) => Promise<Answer<Each>>
  /** For a route with an id, and without a body. */
  one<Each extends Exclude<Extract<PlainName, WithId>, WithBody>>(
    name: Each,
    object: ObjectOf<Answer<Each>>,
  ): (id: string, options?: CallOptions) => Promise<Answer<Each>>
  /** For a route with an id and a body. */
  change<Each extends Extract<PlainName, WithId & WithBody>>(
    name: Each,
    object: ObjectOf<Answer<Each>>,
  ): (id: string, body: BodyOf<Each>, options?: CallOptions) => Promise<Answer<Each>>
}

/** What `Input` is to the code. */
interface AnyInput {
  id?: string
  query?: object | undefined
  body?: object
  status?: 200 | 201
  object: string
  keyed?: true
  options?: KeyedOptions | undefined
}

export function createCalls(request: AdminRequest): Calls {
  type Given = [query?: object, options?: CallOptions]
  const list =
    (name: string) =>
    (...given: Given | [id: string, ...Given]) => {
      const { path } = partsOf(name)
      const isNamed = path.includes(':')
      const [query, options] = (isNamed ? given.slice(1) : given) as Given
      return listOf(request, isNamed ? withId(path, readUuid('id', given[0])) : path, query, options)
    }

  /** Looks up an external id once, so that a repeated call concerns the same tenant. */
  async function idFor(path: string, id: unknown, options: CallOptions | undefined): Promise<string> {
    const externalId = path.startsWith('/v1/tenants/') ? readExternalId('id', id) : undefined
    if (externalId === undefined) return readUuid('id', id)
    const { data } = await (list as unknown as Calls['list'])('GET /v1/tenants')(
      { externalId },
      options,
    ).page()
    // Compared here, because a proxy may drop the query and return other tenants.
    const tenant = data.find(listed => listed.externalId === externalId)
    if (tenant === undefined) throw noTenant(externalId)
    return readUuid('id', tenant.id)
  }

  const call = (name: string, { id, ...more }: AnyInput) => {
    const { method, path } = partsOf(name)
    const isNamed = path.includes(':')
    return request({
      ...more,
      method,
      path: isNamed ? async () => withId(path, await idFor(path, id, more.options)) : path,
    })
  }

  const calls = {
    call,
    list,
    create: (name: string, object: string) => (body: object, options?: KeyedOptions) =>
      call(name, { object, status: 201, keyed: true, body, options }),
    read: (name: string, object: string) => (query?: object, options?: CallOptions) =>
      call(name, { object, query, options }),
    one: (name: string, object: string) => (id: string, options?: CallOptions) =>
      call(name, { object, id, options }),
    change: (name: string, object: string) => (id: string, body: object, options?: CallOptions) =>
      call(name, { object, id, body, options }),
  }
  return calls as unknown as Calls
}

/** @param name such as `GET /v1/keys/:id` */
export function partsOf(name: string) {
  const [method, path] = name.split(' ') as ['GET' | 'POST' | 'PATCH' | 'DELETE', string]
  return { method, path }
}

const withId = (path: string, id: string): string => path.replace(/:\w+/, id)
