import type { HttpRequest } from '../harness/request.ts'

/** Goes through the tokens round and round, on the generator's core. */
export function makeRequests({
  tokens,
  origin,
  path,
}: {
  tokens: readonly string[]
  origin: string
  path: string
}): (n: number) => HttpRequest {
  const requests = tokens.map(token => ({ path, headers: { authorization: `Bearer ${token}`, origin } }))
  return n => requests[n % requests.length] ?? {}
}
