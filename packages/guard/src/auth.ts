import type { HttpAnswer, RequestGate } from '@keyrail/sdk'
import { bothOf, type Demands, type KnownRoutes, type QueryDemands } from './demands.ts'
import { identityOf, nobody } from './identity.ts'
import { problem } from './problem.ts'
import type { RouteTable, Target, Unmatched } from './route-table.ts'

export interface Rules {
  readonly gate: RequestGate
  readonly known: KnownRoutes
  readonly routes: RouteTable | undefined
  /** The headers in which the proxy hands over the request, in lower case. */
  readonly headers: { readonly method: string; readonly uri: string } | undefined
  /** The header in which the proxy hands over the address of the client, in lower case. */
  readonly ipHeader: string | undefined
  readonly queries: QueryDemands
}

/** What a proxy asks. */
interface Asked {
  readonly method: string
  readonly rawHeaders: readonly string[]
  readonly path: string
  readonly query: string
}

export type AuthAnswer =
  /** `headers` are the caller's own. */
  | { readonly code: 'valid' | 'public'; readonly headers: Record<string, string> }
  | { readonly refusal: HttpAnswer }

/** Envoy appends path and query of the request to this prefix, and keeps its method. */
const appended = '/ext-authz'

/** Judges a request that a proxy holds. Nothing that its client sent says what is demanded. */
export async function judge(rules: Rules, asked: Asked): Promise<AuthAnswer> {
  const demands = demandsOn(rules, asked)
  if ('status' in demands) return { refusal: demands }
  if (demands.isPublic) return { code: 'public', headers: { ...nobody } }
  const { rawHeaders } = asked
  const { key, headers, refusal } = await rules.gate.admit(
    { rawHeaders, ip: addressOf(rules, asked) },
    rules.known.of(demands),
  )
  if (refusal !== undefined) return { refusal }
  return { code: 'valid', headers: Object.assign(identityOf(key), headers) }
}

function demandsOn(rules: Rules, asked: Asked): Demands | HttpAnswer {
  const isAppended = asked.path !== '/auth'
  // The query behind Envoy's prefix is the client's.
  const own = rules.queries.read(isAppended ? '' : asked.query)
  if ('status' in own || rules.routes === undefined) return own
  const target = isAppended ? appendedTarget(asked) : handedOver(rules, asked)
  if ('status' in target) return target
  const found = rules.routes.demandsOf(target)
  return typeof found === 'string' ? unmatched(found) : bothOf(own, found)
}

const appendedTarget = ({ method, path, query }: Asked): Target => ({
  method,
  uri: `${path.slice(appended.length)}${query === '' ? '' : `?${query}`}`,
})

function handedOver({ headers }: Rules, { rawHeaders }: Asked): Target | HttpAnswer {
  if (headers === undefined)
    return problem(500, 'internal_error', 'GUARD_METHOD_HEADER and GUARD_URI_HEADER are not set')
  const found: string[] = []
  for (const name of [headers.method, headers.uri]) {
    const values = valuesOf(rawHeaders, name)
    const [value] = values
    // Two of them: the proxy adds its own to that of the client.
    if (value === undefined || values.length > 1)
      return problem(
        500,
        'internal_error',
        `The proxy must send one header ${name}, and sends ${values.length}`,
      )
    found.push(value)
  }
  const [method = '', uri = ''] = found
  return { method, uri }
}

/** Unknown if the proxy hands over none, or if there are two, of which one may be the client's. */
function addressOf({ ipHeader }: Rules, { rawHeaders }: Asked): string | undefined {
  if (ipHeader === undefined) return undefined
  const [address, ...others] = valuesOf(rawHeaders, ipHeader)
  return others.length === 0 ? address?.trim() : undefined
}

const valuesOf = (rawHeaders: readonly string[], name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name)

const unmatched = (code: Unmatched): HttpAnswer =>
  problem(
    403,
    code,
    code === 'unknown_route'
      ? 'No route of this API has this method and path'
      : 'The path has dots, empty segments or characters that programs read differently',
  )
