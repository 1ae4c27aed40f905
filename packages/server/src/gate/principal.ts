import type { Env, Role } from '@keyrail/contract/shared'

export type { Role }

export const credentialKinds = ['secret_key', 'session', 'bootstrap', 'embed_token'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/** In rising order: each may do what those before it may. */
export const roles: readonly Role[] = ['member', 'admin', 'owner']

/** Who is asking, as the credential says; nothing of it ever comes from a body or a query. */
export interface Principal {
  readonly kind: CredentialKind
  /** Id of the secret key, of the person or of the embed token; null for the bootstrap token, which is no record. */
  readonly id: string | null
  /** Null for a credential that is no session. */
  readonly sessionId: string | null
  /** Null for a credential that acts in no workspace. */
  readonly workspaceId: string | null
  /** In the workspace. Whoever acts in none has no use for it. */
  readonly role: Role
  /** A test key reaches test alone; every other credential reaches both environments. */
  readonly reach: 'test' | 'both'
  /** Whose keys an embed token is for; no other credential has it. */
  readonly embed?: EmbedGrant
}

/** All that an embed token stands for, as it was found to hold at this request. */
export interface EmbedGrant {
  readonly tenant: { readonly id: string; readonly externalId: string; readonly name: string | null }
  readonly project: { readonly id: string; readonly name: string }
  readonly env: Env
  readonly scopes: readonly string[]
  readonly expiresAt: Date
}

/** A principal of the vendor plane: the gate has seen to it that there is a workspace. */
export interface VendorPrincipal extends Principal {
  readonly workspaceId: string
}

/** A person who is signed in. */
export interface PersonPrincipal extends Principal {
  readonly id: string
  readonly sessionId: string
}

/** A browser of a vendor's customer. */
export interface EmbedPrincipal extends VendorPrincipal {
  readonly embed: EmbedGrant
}

/** Environments that a principal sees, as the `env = any($n)` of a statement. */
export const visibleEnvs = (principal: Principal): Env[] =>
  principal.reach === 'test' ? ['test'] : ['live', 'test']
