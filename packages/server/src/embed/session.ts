import type { EmbedSession } from '@keyrail/contract/embed'
import type { EmbedGrant, EmbedPrincipal } from '../gate/principal.ts'
import { offeredScopes } from '../keys/known-scopes.ts'
import type { Db } from '../platform/db/db.ts'
import { iso } from '../platform/time.ts'

const keyScope = 'key_scope:'
/** Beyond the three scopes of the specification: the tenant says from where its keys may be used. */
export const networkScope = 'network:write'

/** The scopes that a key created with the token may have. */
export const keyScopesOf = ({ scopes }: Pick<EmbedGrant, 'scopes'>): string[] =>
  scopes.filter(scope => scope.startsWith(keyScope)).map(scope => scope.slice(keyScope.length))

/**
 * What a widget needs before it shows anything. The gate has already read it, except for the scopes to offer: few calls
 * need them, and the list may be long.
 */
export const readSession = async (db: Db, { workspaceId, embed }: EmbedPrincipal): Promise<EmbedSession> =>
  toSession(
    embed,
    embed.project.listsScopes
      ? await db.readAtOnce(workspaceId, tx => offeredScopes(tx, embed.project.id, keyScopesOf(embed)))
      : null,
  )

const toSession = (
  { vendorName, tenant, project, env, scopes, theme, expiresAt }: EmbedGrant,
  knownScopes: string[] | null,
): EmbedSession => ({
  object: 'embed_session',
  vendor: { name: vendorName },
  tenant: {
    id: tenant.id,
    external_id: tenant.externalId,
    name: tenant.name,
    allowed_cidrs: [...tenant.networks],
    ...(tenant.isSuspended && { suspended: true }),
  },
  project: { id: project.id, name: project.name },
  env,
  scopes: [...scopes],
  can: {
    read: scopes.includes('keys:read'),
    write: scopes.includes('keys:write'),
    // Apart from `write`: a widget that is newer than a service learns from its absence that the route is missing.
    update: scopes.includes('keys:write'),
    pause: scopes.includes('keys:write'),
    network: scopes.includes(networkScope),
    tenant_network: env === 'live' && scopes.includes(networkScope),
    key_scopes: keyScopesOf({ scopes }),
  },
  known_scopes: knownScopes,
  theme,
  expires_at: iso(expiresAt),
})
