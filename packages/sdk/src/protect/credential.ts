/**
 * Finds the API key in the headers of a request. It reads the raw list (name, value, name, value, …), because
 * Node's own object keeps the first of two `Authorization` headers and hides that there was another.
 *
 * @param header lower-case; `authorization` holds `Bearer <key>` (RFC 6750), any other the bare key
 * @returns the key; undefined where none was sent; null where what was sent cannot be one: twice, or not Bearer
 */
export function readCredential(rawHeaders: readonly string[], header: string): string | undefined | null {
  let found: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== header) continue
    if (found !== undefined) return null
    found = rawHeaders[at + 1]
  }
  if (found === undefined || header !== 'authorization') return found?.trim()
  const [, key] = /^Bearer +(\S+) *$/i.exec(found) ?? []
  return key ?? null
}
