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
 * On every answer, whoever makes it, unless a route names another `cache-control`: no cache keeps what a credential has
 * opened, and no browser takes an answer for something other than it says.
 */
export const safeHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
