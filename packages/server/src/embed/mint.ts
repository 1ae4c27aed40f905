import type { EmbedToken, EmbedTokenCreate } from '@keyrail/contract/embed'
import type { Deps } from '../deps.ts'
import { unauthenticated } from '../gate/authenticate.ts'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import {
  type EmbedClaims,
  type EmbedTokens,
  tokenLengthMax,
  tokenLifeS,
} from '../platform/crypto/embed-token.ts'
import { readOrigin } from '../platform/http/cors.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'

/**
 * Mints a token for one browser of a tenant. It is written down nowhere: no row, no audit row and no lock, since a
 * vendor asks for one with every page that shows the keys.
 * @param principal a secret key, with which the token will end.
 */
export async function mintEmbedToken(
  { embedTokens, embedStanding, makeId }: Pick<Deps, 'embedTokens' | 'embedStanding' | 'makeId'>,
  principal: VendorPrincipal,
  body: EmbedTokenCreate,
  until: number,
): Promise<EmbedToken> {
  const { workspaceId, id: mintedBy } = principal
  if (mintedBy === null) throw unauthenticated()
  assertSeesProject(principal, body.project_id)
  const { tenant_id: tenantId = null, external_id: externalId } = body
  const place = {
    workspaceId,
    tenantId,
    projectId: body.project_id,
    mintedBy,
    ...(externalId !== undefined && { externalId }),
  }
  const standing = await embedStanding.run(place, until)
  if (standing === null) throw new Refusal('not_found')
  const { now, origins: registered, tenant, project, hasMinter } = standing
  // It was active when the request began, and has ended since.
  if (!hasMinter) throw unauthenticated()
  const origins = body.origins && readOrigins(body.origins, registered)
  const issuedAt = Math.floor(now / 1_000)
  const expiresAt = issuedAt + tokenLifeS
  const scopes = body.scopes ?? ['keys:read']
  const claims: EmbedClaims = {
    id: makeId(),
    workspaceId,
    // Any id is as long: without a tenant there is no token.
    tenantId: tenant?.id ?? tenantId ?? workspaceId,
    projectId: project?.id ?? body.project_id,
    mintedBy,
    env: body.env,
    scopes,
    origins: origins ?? null,
    epoch: tenant?.epoch ?? 1,
    issuedAt,
    expiresAt,
  }
  await assertFits(embedTokens, claims)
  if (tenant === null || project === null) throw new Refusal('not_found')
  const token = await embedTokens.mint(claims)
  return {
    object: 'embed_token',
    token,
    expires_at: iso(new Date(expiresAt * 1_000)),
    project_id: project.id,
    tenant_id: tenant.id,
    env: body.env,
    scopes,
    origins: body.origins ?? [...registered],
  }
}

/** @throws {Refusal} naming what is too much: the origins, where the scopes alone would fit. */
async function assertFits({ lengthOf }: EmbedTokens, claims: EmbedClaims): Promise<void> {
  if ((await lengthOf(claims)) <= tokenLengthMax) return
  const doScopesFit = (await lengthOf({ ...claims, origins: null })) <= tokenLengthMax
  throw invalidField(
    doScopesFit ? 'origins' : 'scopes',
    `make a token of more than ${tokenLengthMax} characters, too long for a header`,
  )
}

/** @throws {Refusal} naming the first that is not registered. */
function readOrigins(given: readonly string[], registered: readonly string[]): string[] {
  const known = new Set(registered.map(readOrigin))
  return given.map((text, i) => {
    const origin = readOrigin(text)
    if (origin === null || !known.has(origin)) {
      throw invalidField(`origins.${i}`, 'is not one of the workspace’s embed_origins')
    }
    return origin
  })
}
