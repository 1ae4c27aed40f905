/** A key in a cookie, in the requests of every tested framework. */
export function tokenOf(request: unknown): string | undefined {
  const { req, headers } = request as {
    req?: { raw?: Request }
    headers: Headers | Record<string, string | undefined>
  }
  // Hono passes its context.
  const sent = req?.raw?.headers ?? headers
  const cookie = sent instanceof Headers ? sent.get('cookie') : sent.cookie
  return /token=(\w+)/.exec(cookie ?? '')?.[1]
}
