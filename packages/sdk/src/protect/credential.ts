/** What was sent in place of a key. */
export type CredentialFault = 'twice' | 'other_scheme' | 'no_scheme' | 'bad_form'

/** `key` is undefined where none was sent; with a `fault` what was sent cannot be one. */
export type Credential =
  | { key: string | undefined; fault?: undefined }
  | { key?: undefined; fault: CredentialFault }

/**
 * Finds the API key in the headers of a request. It reads the raw list (name, value, name, value, …), because
 * Node's own object keeps the first of two `Authorization` headers and hides that there was another.
 *
 * The Fetch API joins two headers with a comma.
 *
 * @param header lower-case; `authorization` holds `Bearer <key>` (RFC 6750), any other the bare key
 */
export function readCredential(rawHeaders: readonly string[], header: string): Credential {
  let found: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== header) continue
    if (found !== undefined) return { fault: 'twice' }
    found = rawHeaders[at + 1] ?? ''
  }
  if (found === undefined || header !== 'authorization') return { key: found?.trim() }
  const [, key] = /^Bearer +(\S+) *$/i.exec(found) ?? []
  if (key !== undefined) return { key }
  if (/^Bearer\b/i.test(found)) return { fault: found.includes(',') ? 'twice' : 'bad_form' }
  return { fault: /^\S+ +\S/.test(found.trim()) ? 'other_scheme' : 'no_scheme' }
}
