import type { Env } from '@keyrail/contract/shared'

export const credentialKinds = ['secret_key', 'session', 'bootstrap'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/** Roles in rising order: each may do what those before it may. */
export const roles = ['member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** Who is asking, as the credential says; nothing of it ever comes from a body or a query. */
export interface Principal {
  readonly kind: CredentialKind
  /** Id of the secret key; null for the bootstrap token, which is no record. */
  readonly id: string | null
  /** Null for a credential that acts in no workspace. */
  readonly workspaceId: string | null
  readonly role: Role
  /** A test key reaches test alone; every other credential reaches both environments. */
  readonly reach: 'test' | 'both'
}

/** A principal of the vendor plane: the gate has seen to it that there is a workspace. */
export interface VendorPrincipal extends Principal {
  readonly workspaceId: string
}

/** Environments that a principal sees, as the `env = any($n)` of a statement. */
export const visibleEnvs = (principal: Principal): Env[] =>
  principal.reach === 'test' ? ['test'] : ['live', 'test']
