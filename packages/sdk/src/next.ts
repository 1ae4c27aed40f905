import type { KeyringSource } from './protect/opened.ts'
import { withKey as protect, type WithKeyOptions } from './protect/with-key.ts'
import type { Valid } from './verify/verdict.ts'

export type { Protection } from './protect/opened.ts'
export type { WithKeyOptions }

/** A route handler, with the key of the request beside what Next tells of the route. */
export type KeyedHandler<R extends Request, C, K = Valid> = (
  request: R,
  context: C & { apiKey: K },
) => Response | Promise<Response>

/**
 * Wraps a route handler of Next. Refusals are answered here, as `application/problem+json`. It belongs to the route: a
 * proxy in front of it is no place to protect one.
 *
 * @param keyring or a function that opens it, called once, with the first request: `next build` runs the file of a
 *   route too, where there is no service to ask and perhaps no secret. All routes that name one function share what it
 *   has opened
 * @throws TypeError when what is handed over is no keyring, so that a wrong import never leaves a route open
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
