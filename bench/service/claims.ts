import { createHash, randomUUID } from 'node:crypto'
import type { HttpRequest, RequestSource } from '../harness/request.ts'
import type { Vendor } from './vendor.ts'

/** Claims of new requests, or all of the same one. */
type ClaimPlan = Pick<Vendor, 'token'> & { prefix: string }

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function claimOf({ token, prefix }: ClaimPlan, n: number): HttpRequest {
  const scope = sha256(`${prefix} ${n}`)
  return {
    method: 'POST',
    path: '/v1/idempotency/claim',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ scope_hash: scope, fingerprint: scope, env: 'live' }),
  }
}

/** Each a new one, over all turns. */
export const newClaims = ({ token }: Vendor): RequestSource => ({
  module: import.meta.url,
  argument: { token, prefix: randomUUID() } satisfies ClaimPlan,
})

/** The module that the generator's process loads, see `RequestModule`. */
export const makeRequests = (plan: ClaimPlan) => (n: number) => claimOf(plan, n)

/** The same few, each already claimed. */
export const duplicateClaims = ({ token }: Vendor): HttpRequest[] => {
  const plan = { token, prefix: randomUUID() }
  return Array.from({ length: 64 }, (_, n) => claimOf(plan, n))
}
