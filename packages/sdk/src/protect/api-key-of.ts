import type { Valid } from '../verify/verdict.ts'

/**
 * The key of a request, behind a protection that demands one: `request.apiKey` may be undefined for the compiler, because a
 * route may be public or its key optional.
 *
 * @throws TypeError if the request has no key
 */
export function apiKeyOf({ apiKey }: { apiKey?: Valid | undefined }): Valid {
  if (apiKey === undefined)
    throw new TypeError('apiKeyOf finds no key: nothing before this route demands one')
  return apiKey
}
