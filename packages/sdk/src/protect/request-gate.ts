import { Exchange } from './exchange.ts'
import { type Admission, Gate } from './gate.ts'
import type { GateOptions, RouteRequirements } from './gate-options.ts'
import type { KeyringOf } from './parts.ts'

/** A request for `createGate`. */
export interface GateRequest {
  /** Name, value, name, value, as Node has them in `rawHeaders`. */
  rawHeaders: readonly string[]
  /** For your own `getKey`. */
  key?: string | undefined
  /** The address of the caller, without a port. Without it, a key that is restricted to networks is refused as `ip_unknown`. */
  ip?: string | null | undefined
}

/** Judges requests that no framework carries; made by `createGate`. */
export interface RequestGate {
  /**
   * Verifies the key of a request, charges its limits and counts it, once for each call. Rejects only if your `getKey` or `getIp` does.
   *
   * @throws TypeError for wrong scopes or a wrong cost
   */
  admit(request: GateRequest, route?: RouteRequirements): Promise<Admission>
}

const noRoute: RouteRequirements = Object.freeze({})

/**
 * Protects what no framework of this package serves, such as the request of a proxy, with the verdicts, the answers and the
 * counts of a `requireKey`.
 *
 * @throws TypeError if the keyring is missing or an option wrong
 */
export function createGate(keyring: KeyringOf, options: GateOptions<GateRequest> = {}): RequestGate {
  const gate = new Gate<GateRequest>('createGate', keyring, options)
  /** A caller may pass the same one with every request. */
  const checked = new WeakSet<RouteRequirements>()
  return {
    admit(request, route = noRoute) {
      if (!checked.has(route)) {
        gate.checkRoute(route)
        checked.add(route)
      }
      return gate.admit({
        exchange: new Exchange(),
        rawHeaders: request.rawHeaders,
        request,
        peer: () => request.ip,
        route,
      })
    },
  }
}
