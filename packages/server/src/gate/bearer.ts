/** No credential is longer: the longest is an embed token, within the length of a header. */
const form = /^bearer +([\x21-\x7e]{1,16384}) *$/i

/**
 * The credential in the `Authorization` headers of a request: the scheme in any case, one space or more (RFC 9110), printable
 * ASCII. Undefined for anything else, and for two headers.
 */
export const readBearer = (authorization: readonly string[]): string | undefined =>
  authorization.length === 1 ? form.exec(authorization[0] ?? '')?.[1] : undefined
