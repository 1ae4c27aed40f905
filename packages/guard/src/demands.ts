import type { HttpAnswer, RouteRequirements } from '@keyrail/sdk'
import { invalid } from './problem.ts'

/** What a request must fulfil. `isPublic`: nothing is asked of it. */
export interface Demands {
  readonly scopes: readonly string[]
  /** Undefined: 1, and nothing where the key has no limits. */
  readonly cost: number | undefined
  readonly isPublic?: boolean
}

export const none: Demands = Object.freeze({ scopes: Object.freeze([]), cost: undefined })

/** The largest cost that the service accepts. */
export const COST_MAX = 1_000
/** So many scopes a request can demand. */
export const SCOPES_MAX = 100

/** All that either demands, and the higher cost. Public only if neither asks for anything. */
export function bothOf(one: Demands, other: Demands): Demands {
  if (one === none) return other
  const scopes = [...new Set([...one.scopes, ...other.scopes])]
  const costs = [one.cost, other.cost].filter(cost => cost !== undefined)
  const cost = costs.length === 0 ? undefined : Math.max(...costs)
  const isPublic = (one.isPublic || other.isPublic) && scopes.length === 0 && cost === undefined
  return { scopes, cost, ...(isPublic && { isPublic }) }
}

/** What a gate is told. @param charges whether limits are charged at all */
export const routeOf = ({ scopes, cost }: Demands, charges: boolean): RouteRequirements => ({
  ...(scopes.length > 0 && { scopes }),
  ...(cost !== undefined && charges && { cost }),
})

/** The same object for the same demands, which the gate then checks once. */
export class KnownRoutes {
  readonly #known = new WeakMap<Demands, RouteRequirements>()
  readonly #charges: boolean

  constructor(charges: boolean) {
    this.#charges = charges
  }

  of(demands: Demands): RouteRequirements {
    const known = this.#known.get(demands)
    if (known !== undefined) return known
    const route = routeOf(demands, this.#charges)
    this.#known.set(demands, route)
    return route
  }
}

/**
 * Reads the query of the address that the proxy's own file names: `scope=orders:read&scope=orders:write&cost=2`. A proxy has
 * few of them, so each is read once.
 */
export class QueryDemands {
  readonly #known = new Map<string, Demands | HttpAnswer>()

  read(query: string): Demands | HttpAnswer {
    if (query === '') return none
    const known = this.#known.get(query)
    if (known !== undefined) return known
    const read = readQuery(query)
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    this.#known.set(query, read)
    return read
  }
}

const KNOWN_MAX = 1_000

function readQuery(query: string): Demands | HttpAnswer {
  const scopes: string[] = []
  let cost: number | undefined
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'scope') {
      if (value === '') return invalid('scope', 'must not be empty')
      scopes.push(value)
    } else if (name === 'cost') {
      if (cost !== undefined) return invalid('cost', 'is given twice')
      cost = readCostText(value)
      if (cost === undefined) return invalid('cost', `must be an integer from 0 to ${COST_MAX}`)
    } else return invalid(name, 'is unknown: the query takes scope and cost')
  }
  if (scopes.length > SCOPES_MAX) return invalid('scope', `is given more than ${SCOPES_MAX} times`)
  return Object.freeze({ scopes: Object.freeze(scopes), cost })
}

const readCostText = (text: string): number | undefined =>
  /^\d{1,4}$/.test(text) && Number(text) <= COST_MAX ? Number(text) : undefined
