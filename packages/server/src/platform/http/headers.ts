import type { IncomingMessage } from 'node:http'

/** Every value of a header, in order. Node's own `headers` keeps only the first of two `Authorization`. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  const { rawHeaders } = request
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const own = rawHeaders[i] ?? ''
    if (own.length === name.length && own.toLowerCase() === name) values.push(rawHeaders[i + 1] ?? '')
  }
  return values
}

/**
 * Sent with every response unless a route sets another `cache-control`: caches must not store what a credential
 * has opened, and browsers must not guess the type.
 */
export const safeHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
