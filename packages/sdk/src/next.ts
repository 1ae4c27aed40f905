import type { KeyringSource } from './protect/opened.ts'
import { withKey as protect, type WithKeyOptions } from './protect/with-key.ts'
import type { Valid } from './verify/verdict.ts'

export { embedHandler } from './embed/web-handler.ts'

export type { Protection } from './protect/opened.ts'
export type { WithKeyOptions }

/** A route handler of Next, whose context also has `apiKey`. */
export type KeyedHandler<R extends Request, C, K = Valid> = (
  request: R,
  context: C & { apiKey: K },
) => Response | Promise<Response>

/**
 * Wraps a route handler of Next. Refuses as `application/problem+json`. Use it in the file of the route, not in `proxy.ts`.
 *
 * @param keyring or a function that makes one, called once with the first request: `next build` also runs the file, without
 *   a service and perhaps without the secret. Routes with the same function share its result
 * @throws TypeError if the keyring is missing or wrong, so that a wrong import never leaves a route open
 */
export function withKey<R extends Request = Request, C = unknown>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, C, Valid | undefined>,
  options: WithKeyOptions & { optional: true },
): (request: R, context: C) => Promise<Response>
export function withKey<R extends Request = Request, C = unknown>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, C>,
  options?: WithKeyOptions,
): (request: R, context: C) => Promise<Response>
export function withKey<R extends Request, C>(
  keyring: KeyringSource,
  handler: KeyedHandler<R, C>,
  options?: WithKeyOptions,
): (request: R, context: C) => Promise<Response> {
  if (typeof handler !== 'function') throw new TypeError('withKey takes a route handler')
  return protect<R, [C]>(
    keyring,
    (request, keyed, context) => handler(request, { ...context, ...keyed }),
    options,
  )
}
