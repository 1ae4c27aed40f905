import type { ServerResponse } from 'node:http'
import { partOf } from '../platform/concurrency/part-of.ts'
import { tooManyInFlight } from '../platform/refusal.ts'
import type { Principal } from './principal.ts'
import type { Route } from './route.ts'

/** Counts the requests of each credential that are not answered yet. */
export interface InFlight {
  /**
   * Counts a request until its response closes.
   * @throws {Refusal} `too_many_in_flight` when the credential has its share in flight.
   */
  enter(principal: Principal, route: Pick<Route, 'plane' | 'endsRights'>, response: ServerResponse): void
}

/**
 * A stolen credential must not keep its owner waiting, and its own end least of all. The owner's requests come behind at
 * most as many of the thief's.
 */
export const inFlightMax = 256
/** The same for a person's requests that end a right: one of them hashes a password. */
export const ownEndsInFlightMax = 16

/** These planes have bounds that suit them: a fleet holds a poll in each process with one key. */
const bounded: ReadonlySet<Route['plane']> = new Set(['person', 'vendor', 'embed'])

/** @param processes among which the bounds are divided. */
export function createInFlight(processes: number): InFlight {
  const most = partOf(inFlightMax, processes)
  const mostOwnEnds = partOf(ownEndsInFlightMax, processes)
  const counts = new Map<string, number>()
  return {
    enter(principal, { plane, endsRights }, response) {
      if (!bounded.has(plane) || response.closed) return
      // What ends a right is counted apart, so that other requests never keep it out.
      const name = `${endsRights ? 'ends ' : ''}${nameOf(principal)}`
      const count = counts.get(name) ?? 0
      if (count >= (endsRights && plane === 'person' ? mostOwnEnds : most)) throw tooManyInFlight()
      counts.set(name, count + 1)
      response.once('close', () => {
        const left = (counts.get(name) ?? 1) - 1
        if (left === 0) counts.delete(name)
        else counts.set(name, left)
      })
    },
  }
}

/** Tokens of one embedded page count together: a page may take a new one at any time. */
const nameOf = ({ kind, id, sessionId, workspaceId, embed }: Principal): string =>
  embed === undefined ? `${kind} ${sessionId ?? id}` : `${kind} ${workspaceId} ${embed.tenant.id}`
