/** What is wrong with the credential that was sent. */
export type CredentialFault = 'twice' | 'other_scheme' | 'no_scheme' | 'bad_form'

/** `key` is undefined if none was sent. With a `fault`, the credential cannot be a key. */
export type Credential =
  | { key: string | undefined; fault?: undefined }
  | { key?: undefined; fault: CredentialFault }

/**
 * Finds the API key in the headers of a request. Reads the raw list (name, value, name, value, …), because Node's header
 * object keeps only the first of two `Authorization` headers. The Fetch API joins two headers with a comma.
 *
 * @param header in lower case; `authorization` holds `Bearer <key>` (RFC 6750), any other header the bare key
 */
export function readCredential(rawHeaders: readonly string[], header: string): Credential {
  let found: string | undefined
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== header) continue
    if (found !== undefined) return { fault: 'twice' }
    found = rawHeaders[at + 1] ?? ''
  }
  if (found === undefined || header !== 'authorization') return { key: found?.trim() }
  const [, key] = /^Bearer +([\x21-\x7e]+) *$/i.exec(found) ?? []
  if (key !== undefined) return { key }
  if (/^Bearer\b/i.test(found)) return { fault: found.includes(',') ? 'twice' : 'bad_form' }
  return { fault: /^\S+ +\S/.test(found.trim()) ? 'other_scheme' : 'no_scheme' }
}
