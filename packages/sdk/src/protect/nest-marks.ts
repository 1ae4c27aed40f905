/** What the decorators of Nest say of a route and its controller. */

import { type CustomDecorator, SetMetadata } from '@nestjs/common'
import type { Reflector } from '@nestjs/core'
import { readCost } from '../limits/cost.ts'
import { type RouteRequirements, readScopes } from './gate-options.ts'

type Mark = Parameters<Reflector['get']>[1]

/** What the decorators of a route and its controller say. */
export interface RouteMarks extends RouteRequirements {
  isPublic: boolean
  /** Whether the route demands something of a key although it is public. */
  isDemanded: boolean
  idempotencyRequired: boolean | undefined
}

const PUBLIC = 'keyrail:public'
const SCOPES = 'keyrail:scopes'
const OPTIONAL = 'keyrail:optional'
const COST = 'keyrail:cost'
const IDEMPOTENCY_REQUIRED = 'keyrail:idempotencyRequired'
/** What a route demands of a key. */
const demands = { SCOPES, COST, IDEMPOTENCY_REQUIRED }

/**
 * Opens a route, or all routes of a controller, to requests without a key. A route that demands something of a key cannot be
 * public: the application does not start.
 */
export const Public = (): CustomDecorator => SetMetadata(PUBLIC, true)
/**
 * Lets requests without a key pass, on a route or all routes of a controller, where nothing is demanded of the key. A key that
 * is sent is still checked.
 */
export const OptionalKey = (): CustomDecorator => SetMetadata(OPTIONAL, true)
/**
 * Scopes that the key must all have: those of the controller and of the route.
 *
 * @throws TypeError if no scope is given
 */
export function Scopes(...scopes: string[]): CustomDecorator {
  const read = readScopes(scopes)
  if (read.length === 0) throw new TypeError('Scopes takes at least one scope')
  return SetMetadata(SCOPES, read)
}
/** How much a request takes from every limit, 0 to 1,000. Needs the option `limiter`. */
export const Cost = (cost: number): CustomDecorator => SetMetadata(COST, readCost(cost))
/** Refuses requests without `Idempotency-Key` with 400, on a route or all routes of a controller. */
export const IdempotencyRequired = (): CustomDecorator => SetMetadata(IDEMPOTENCY_REQUIRED, true)

/** @param places the route, then its controller */
export function marksOf(reflector: Reflector, places: [route: Mark, controller: Mark]): RouteMarks {
  const marked = <T>(mark: string) => reflector.getAllAndOverride<T | undefined>(mark, places)
  const publicAt = places.findIndex(place => reflector.get(PUBLIC, place) === true)
  // A decorator of the route overrides the same decorator of its controller.
  const nearer = places.slice(0, publicAt + 1)
  const isDemanded = Object.values(demands).some(
    mark => reflector.getAllAndOverride(mark, nearer) !== undefined,
  )
  const scopes = places.flatMap(place => reflector.get<readonly string[] | undefined>(SCOPES, place) ?? [])
  return {
    isPublic: publicAt !== -1,
    isDemanded,
    scopes: scopes.length === 0 ? undefined : scopes,
    cost: marked<number>(COST),
    optional: marked<boolean>(OPTIONAL),
    idempotencyRequired: marked<boolean>(IDEMPOTENCY_REQUIRED),
  }
}
