import { hash } from 'node:crypto'
import { matches } from './body/shared-body.ts'

/**
 * The answer of a route that is `conditional`: 304 for a client that already has this body. The tag is weak, because a proxy
 * may compress the body.
 */
export function taggedBody(value: unknown, ifNoneMatch: string | undefined) {
  const body = Buffer.from(JSON.stringify(value))
  const headers = { etag: `W/"${hash('sha256', body, 'base64url')}"` }
  return matches(ifNoneMatch, headers.etag)
    ? { body: null, status: 304 as const, headers }
    : { body, headers }
}
