import type { RateLimitVerdict } from '@keyrail/contract/ratelimit'
import type { Env } from '@keyrail/contract/shared'
import type { ServiceVerdict } from '@keyrail/contract/verdicts'
import type { KeyVerdict, KeyVerify } from '@keyrail/contract/verify'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import type { Call } from '../gate/route.ts'
import { envOfKey, hasFormOfImported, tokenDigest } from '../platform/crypto/token.ts'
import { readAddress } from '../platform/network/client-address.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { type ChargeNeeds, chargeLimits } from '../ratelimit/actions.ts'
import type { OwnCounts } from '../usage/own-counts.ts'
import type { FindKeyByText, FoundKey } from './find-key.ts'
import { judgeKey } from './judge.ts'

/** What the route of this room needs from outside; `deps.ts` provides it. */
export interface VerifyNeeds extends ChargeNeeds {
  readonly findKeyByText: FindKeyByText
  readonly ownCounts: Pick<OwnCounts, 'use' | 'refuse'>
  readonly countKeyVerdict: (verdict: ServiceVerdict) => void
}

type Asking = Pick<Call<VendorPrincipal, unknown, KeyVerify>, 'principal' | 'deadline' | 'body'>

/**
 * Judges a key, charges its limits and counts the request.
 * @throws {Refusal} `not_found` for the project, `insufficient_permission` for limits, and what charging them throws
 */
export async function verifyKey(
  deps: VerifyNeeds,
  { principal, deadline, body }: Asking,
): Promise<KeyVerdict> {
  const { key: text, scopes = [], ip, cost = 1 } = body
  const address = ip === undefined ? null : readAddress(ip)
  if (ip !== undefined && address === null) throw invalidField('ip', 'must be an IPv4 or IPv6 address')
  assertSeesProject(principal, body.project_id)
  const { workspaceId, reach } = principal
  const projectId = body.project_id.toLowerCase()
  const formEnv = envOfKey(text)
  const isOwnForm = formEnv !== null
  const digest = isOwnForm || hasFormOfImported(text) ? tokenDigest(text) : null
  const found = await deps.findKeyByText.run({ workspaceId, projectId, digest, isOwnForm, reach }, deadline)
  if (!found.hasProject) throw new Refusal('not_found')
  const { hour } = found
  // An imported digest may be of a text that names the other environment, in which every node looks for it.
  const key = found.key !== null && isOwnForm && found.key.env !== formEnv ? null : found.key
  const place = {
    workspaceId,
    projectId,
    env: reach === 'test' ? 'test' : (formEnv ?? key?.env ?? 'live'),
    hour,
  } as const
  const judged = judgeKey(text, isOwnForm || (digest !== null && found.acceptsAny), key, { scopes, address })
  if (judged !== 'valid' || key === null) return refuse(deps, judged, place)
  const limits = await charge(deps, { principal, deadline }, { projectId, key, cost })
  if (limits?.allowed === false)
    return { ...refuse(deps, 'rate_limited', place), key: toVerified(key, principal), ...numbersOf(limits) }
  deps.countKeyVerdict('valid')
  deps.ownCounts.use({ workspaceId, keyId: key.id, hour })
  return {
    object: 'key_verdict',
    valid: true,
    code: 'valid',
    key: toVerified(key, principal),
    ...(limits === null ? noNumbers : numbersOf(limits)),
  }
}

const noNumbers: Pick<KeyVerdict, 'limits' | 'headers'> = { limits: [], headers: {} }
const numbersOf = ({ limits, headers }: RateLimitVerdict) => ({ limits, headers })

/** Where a refusal is counted. */
interface Place {
  readonly workspaceId: string
  readonly projectId: string
  readonly env: Env
  readonly hour: number
}

function refuse(deps: VerifyNeeds, code: ServiceVerdict, place: Place): KeyVerdict {
  deps.countKeyVerdict(code)
  deps.ownCounts.refuse(place, code)
  return { object: 'key_verdict', valid: false, code, key: null, ...noNumbers }
}

/** Charges the limits of a key by the rules and counters of a rate-limit check. @returns null for a key without limits. */
async function charge(
  deps: VerifyNeeds,
  { principal, deadline }: Pick<Asking, 'principal' | 'deadline'>,
  { projectId, key, cost }: { projectId: string; key: FoundKey; cost: number },
): Promise<RateLimitVerdict | null> {
  const { id, tenantId, env, limits } = key
  if (limits.length === 0) return null
  const { permissions, workspaceId } = principal
  if (permissions !== null && !permissions.has('ratelimit:check')) {
    throw new Refusal(
      'insufficient_permission',
      'The key has limits, and the secret key lacks the permission ratelimit:check.',
    )
  }
  const check = { workspaceId, projectId, env, keyId: id, tenantId, cost, rules: limits }
  return chargeLimits(deps, check, deadline)
}

const toVerified = (key: FoundKey, { permissions }: VendorPrincipal): NonNullable<KeyVerdict['key']> => ({
  id: key.id,
  tenant_id: key.tenantId,
  external_id: key.externalId,
  env: key.env,
  scopes: [...key.scopes],
  meta: key.meta,
  expires_at: key.expiresAt === null ? null : iso(new Date(key.expiresAt)),
  ...((permissions === null || permissions.has('policy:labels')) && { name: key.name }),
})
