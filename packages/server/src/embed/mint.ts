import type { EmbedToken, EmbedTokenCreate } from '@keyrail/contract/embed'
import type { TenantCreate } from '@keyrail/contract/vendor/tenants'
import { unauthenticated } from '../gate/authenticate.ts'
import type { EmbedClaims } from '../gate/authenticate-embed.ts'
import type { FindStanding } from '../gate/lookup.ts'
import { assertSeesProject, type VendorPrincipal } from '../gate/principal.ts'
import type { Deadline } from '../platform/concurrency/deadline.ts'
import { readOrigin } from '../platform/http/cors.ts'
import type { MakeId } from '../platform/ids.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { type EmbedTokens, tokenLengthMax, tokenLifeS } from './signed-token.ts'

/** To mint. Nothing else of this room's is needed: what mints must not reach the audit log. */
export interface MintNeeds {
  readonly embedTokens: EmbedTokens
  readonly embedStanding: FindStanding
  readonly makeId: MakeId
}

/**
 * Mints a token for a tenant's browser. It writes no row, no audit row, and takes no lock, since a vendor may call it for
 * every page view that shows keys.
 * @param principal a secret key; the token ends with it.
 * @param meetTenant creates the tenant, in its own transaction; called last, only if the body asks for that and the
 *   tenant is missing.
 */
export async function mintEmbedToken(
  { embedTokens, embedStanding, makeId }: MintNeeds,
  principal: VendorPrincipal,
  body: EmbedTokenCreate,
  deadline: Deadline,
  meetTenant: (body: TenantCreate) => Promise<{ id: string; epoch: number }>,
): Promise<EmbedToken> {
  const { workspaceId, id: mintedBy } = principal
  if (mintedBy === null) throw unauthenticated()
  assertSeesProject(principal, body.project_id)
  const scopes = body.scopes ?? ['keys:read']
  // The networks of a tenant hold in every project.
  if (scopes.includes('network:write') && principal.projectIds !== null)
    throw new Refusal(
      'whole_workspace_required',
      'A token with network:write reaches every project of the tenant. Mint it with a key without project_ids.',
    )
  const { tenant_id: tenantId = null, external_id: externalId } = body
  const place = {
    workspaceId,
    tenantId,
    projectId: body.project_id,
    mintedBy,
    ...(externalId !== undefined && { externalId }),
  }
  const standing = await embedStanding.run(place, deadline)
  if (standing === null) throw new Refusal('not_found')
  const { now, origins: registered, tenant: known, project, hasMinter } = standing
  // The key was active when the request began, and has ended since.
  if (!hasMinter) throw unauthenticated()
  const origins = body.origins && readOrigins(body.origins, registered)
  const issuedAt = Math.floor(now / 1_000)
  const expiresAt = issuedAt + tokenLifeS
  const claims: EmbedClaims = {
    id: makeId(),
    workspaceId,
    // Any id has this length, and without a tenant no token is issued.
    tenantId: known?.id ?? tenantId ?? workspaceId,
    projectId: project?.id ?? body.project_id,
    mintedBy,
    env: body.env,
    scopes,
    origins: origins ?? null,
    epoch: known?.epoch ?? 1,
    issuedAt,
    expiresAt,
  }
  await assertFits(embedTokens, claims)
  if (project === null) throw new Refusal('not_found')
  const tenant =
    known ??
    (body.create_tenant === undefined
      ? null
      : await meetTenant({ external_id: body.external_id, ...body.create_tenant }))
  if (tenant === null) throw new Refusal('not_found')
  const token = await embedTokens.mint({ ...claims, tenantId: tenant.id, epoch: tenant.epoch })
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

/** @throws {Refusal} naming what is too long: the origins, if the scopes alone would fit. */
async function assertFits({ lengthOf }: EmbedTokens, claims: EmbedClaims): Promise<void> {
  if ((await lengthOf(claims)) <= tokenLengthMax) return
  const doScopesFit = (await lengthOf({ ...claims, origins: null })) <= tokenLengthMax
  throw invalidField(
    doScopesFit ? 'origins' : 'scopes',
    `make the token longer than ${tokenLengthMax} characters, which is too long for a header`,
  )
}

/** @throws {Refusal} naming the first origin that is not registered. */
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
