import type { EmbedSession } from '@keyrail/contract/embed'
import type { EmbedGrant } from '../gate/principal.ts'
import { iso } from '../platform/time.ts'

const keyScope = 'key_scope:'

/** Scopes that a key made with the token may carry. */
export const keyScopesOf = ({ scopes }: Pick<EmbedGrant, 'scopes'>): string[] =>
  scopes.filter(scope => scope.startsWith(keyScope)).map(scope => scope.slice(keyScope.length))

/** All that a widget must know before it shows anything; the gate has found it already. */
export const toSession = ({ tenant, project, env, scopes, expiresAt }: EmbedGrant): EmbedSession => ({
  object: 'embed_session',
  tenant: { id: tenant.id, external_id: tenant.externalId, name: tenant.name },
  project: { id: project.id, name: project.name },
  env,
  scopes: [...scopes],
  can: {
    read: scopes.includes('keys:read'),
    write: scopes.includes('keys:write'),
    key_scopes: keyScopesOf({ scopes }),
  },
  expires_at: iso(expiresAt),
})
