import type { HttpRequest } from '../harness/request.ts'

export const sessionRequest = (token: string, origin: string, path: string): HttpRequest => ({
  path,
  headers: { authorization: `Bearer ${token}`, origin },
})

/** Uses the tokens in turn, again and again, on the generator's core. */
export function makeRequests({
  tokens,
  origin,
  path,
}: {
  tokens: readonly string[]
  origin: string
  path: string
}): (n: number) => HttpRequest {
  const requests = tokens.map(token => sessionRequest(token, origin, path))
  return n => requests[n % requests.length] ?? {}
}
