import { bothOf, COST_MAX, type Demands, none, SCOPES_MAX } from './demands.ts'

/** What a request of the client asks for. */
export interface Target {
  readonly method: string
  /** Path and query, as the client sent them. */
  readonly uri: string
}

/** Why a table has no answer. */
export type Unmatched = 'unknown_route' | 'ambiguous_path'

interface Route {
  readonly methods: ReadonlySet<string> | undefined
  readonly segments: readonly string[]
  readonly takesRest: boolean
  readonly demands: Demands
}

/** A file that cannot be used. The message names the member. */
class TableError extends Error {}

const ROUTES_MAX = 1_000
const URI_BYTES_MAX = 16_384

/**
 * What each route of an API demands. The first route that matches counts; a request that none matches is refused, and so is
 * a path that an upstream may read as another one.
 */
export class RouteTable {
  readonly #routes: readonly Route[]

  /** @throws TableError */
  constructor(text: string) {
    this.#routes = readTable(text)
  }

  demandsOf({ method, uri }: Target): Demands | Unmatched {
    const segments = unsafeInPath.test(uri) ? undefined : segmentsOf(uri)
    if (segments === undefined) return 'ambiguous_path'
    // An upstream answers HEAD where it answers GET.
    const asked = method === 'HEAD' ? ['HEAD', 'GET'] : [method]
    for (const route of this.#routes) {
      const { methods } = route
      if (methods !== undefined && !asked.some(each => methods.has(each))) continue
      if (matches(route, segments)) return route.demands
    }
    return 'unknown_route'
  }
}

/** A fragment, which some programs cut off, and what a client must encode, which some decode as UTF-8. */
const unsafeInPath = /^[^?]*[^\x21\x22\x24-\x7e]/

function matches({ segments, takesRest }: Route, asked: readonly string[]): boolean {
  if (takesRest ? asked.length < segments.length : asked.length !== segments.length) return false
  return segments.every((segment, at) => segment === '*' || segment === asked[at])
}

/**
 * The decoded segments of a path. Undefined where programs disagree what the path is: dot segments, empty segments, encoded
 * slashes, backslashes, parameters behind `;`. A slash at the end is left out.
 */
function segmentsOf(uri: string): string[] | undefined {
  if (!uri.startsWith('/') || uri.length > URI_BYTES_MAX) return undefined
  const [path = ''] = uri.split('?', 1)
  const raw = path.slice(1).split('/')
  if (raw.at(-1) === '') raw.pop()
  const segments: string[] = []
  for (const each of raw) {
    const segment = decoded(each)
    if (segment === undefined || /^\.{0,2}$/.test(segment) || /[/\\;%\p{Cc}]/u.test(segment)) return undefined
    segments.push(segment)
  }
  return segments
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function readTable(text: string): Route[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new TableError(`is not JSON: ${withoutText((error as Error).message)}`)
  }
  const { routes } = membersOf('the file', parsed, ['routes'])
  if (!Array.isArray(routes)) throw new TableError('routes must be an array')
  if (routes.length > ROUTES_MAX) throw new TableError(`routes has more than ${ROUTES_MAX} entries`)
  return routes.map((route, at) => readRoute(`routes.${at}`, route))
}

/** V8 quotes the file, which may be another one, with a secret. */
const withoutText = (message: string): string => message.replace(/, (?:\.{3})?".*$/s, '')

function readRoute(path: string, given: unknown): Route {
  const names = ['methods', 'path', 'scopes', 'cost', 'public']
  const {
    methods,
    path: pattern,
    scopes = [],
    cost,
    public: isPublic = false,
  } = membersOf(path, given, names)
  const asked = methods === undefined ? undefined : readTexts(`${path}.methods`, methods, /^[A-Z]{1,20}$/)
  if (typeof isPublic !== 'boolean') throw new TableError(`${path}.public must be true or false`)
  const demands = {
    scopes: readTexts(`${path}.scopes`, scopes, /^.+$/s),
    cost: cost === undefined ? undefined : readCost(`${path}.cost`, cost),
  }
  if (isPublic && (demands.scopes.length > 0 || demands.cost !== undefined))
    throw new TableError(`${path}.public stands beside scopes or cost, which need a key`)
  return {
    ...readPattern(`${path}.path`, pattern),
    methods: asked && new Set(asked),
    demands: bothOf(isPublic ? { ...none, isPublic } : none, demands),
  }
}

function readPattern(path: string, pattern: unknown): Pick<Route, 'segments' | 'takesRest'> {
  if (typeof pattern !== 'string' || !pattern.startsWith('/'))
    throw new TableError(`${path} must begin with a slash`)
  const takesRest = pattern.endsWith('/**')
  const segments = segmentsOf(takesRest ? pattern.slice(0, -2) : pattern)
  if (
    segments === undefined ||
    segments.some(each => each.includes('*') && each !== '*') ||
    /[?#]/.test(pattern)
  )
    throw new TableError(`${path} takes segments, * for one of them, and ** at the end for all that follow`)
  return { segments, takesRest }
}

function readTexts(path: string, given: unknown, form: RegExp): string[] {
  if (!Array.isArray(given) || given.length > SCOPES_MAX)
    throw new TableError(`${path} must be an array of at most ${SCOPES_MAX} texts`)
  return given.map((each, at) => {
    if (typeof each !== 'string' || !form.test(each)) throw new TableError(`${path}.${at} is not valid`)
    return each
  })
}

function readCost(path: string, cost: unknown): number {
  if (typeof cost !== 'number' || !Number.isInteger(cost) || cost < 0 || cost > COST_MAX)
    throw new TableError(`${path} must be an integer from 0 to ${COST_MAX}`)
  return cost
}

/** The members of an object, and a misspelt one is an error. */
function membersOf(path: string, given: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TableError(`${path} must be an object`)
  const unknown = Object.keys(given).find(name => !names.includes(name))
  if (unknown !== undefined) throw new TableError(`${path} has an unknown member ${JSON.stringify(unknown)}`)
  return given as Record<string, unknown>
}
