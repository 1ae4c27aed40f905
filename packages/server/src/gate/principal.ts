import type { Env, Role } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import type { Network } from '../platform/network/cidr.ts'
import { Refusal } from '../platform/refusal.ts'

export type { Role }

export const credentialKinds = ['secret_key', 'session', 'bootstrap', 'embed_token'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/** In rising order: each may do what those before it may. */
export const roles: readonly Role[] = ['member', 'admin', 'owner']

/**
 * What a secret key is limited to, each null where it is not limited in that way. Sessions and the bootstrap token have
 * no limits of this kind.
 */
export interface KeyLimits {
  readonly permissions: ReadonlySet<Permission> | null
  /** The only projects that it sees. */
  readonly projectIds: readonly string[] | null
  /** The only addresses that it is used from. */
  readonly networks: readonly Network[] | null
}

export const unlimited: KeyLimits = { permissions: null, projectIds: null, networks: null }

/** Whether a credential may do everything that its role may, everywhere. */
export const isUnlimited = ({ permissions, projectIds, networks }: KeyLimits): boolean =>
  permissions === null && projectIds === null && networks === null

/** Who is asking, as the credential says; nothing of it ever comes from a body or a query. */
export interface Principal extends KeyLimits {
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
  /**
   * Until when the look-up that it comes from may be reused, on the monotonic clock in milliseconds; undefined for one
   * that was made for this request alone.
   */
  readonly reusableUntil?: number
}

/** All that an embed token stands for, as it was found to hold at this request. */
export interface EmbedGrant {
  readonly tenant: {
    readonly id: string
    readonly externalId: string
    readonly name: string | null
    /** Raised to end all tokens of the tenant. */
    readonly epoch: number
  }
  readonly project: { readonly id: string; readonly name: string }
  readonly env: Env
  readonly scopes: readonly string[]
  /** The secret key that minted the token. */
  readonly mintedBy: string
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

/** Which things of a workspace a principal sees. What it does not see is as if it were nowhere. */
export interface Sight {
  readonly envs: readonly Env[]
  /** Null: those of all projects. */
  readonly projectIds: readonly string[] | null
}

export const sightOf = (principal: Principal): Sight => ({
  envs: visibleEnvs(principal),
  projectIds: principal.projectIds,
})

/** @throws {Refusal} `not_found`, for a project beyond those that the principal sees as for one that nobody has. */
export function assertSeesProject({ projectIds }: Principal, id: string): void {
  if (projectIds !== null && !projectIds.includes(id.toLowerCase())) throw new Refusal('not_found')
}

/** Environments that a principal sees, as the `env = any($n)` of a statement. */
export const visibleEnvs = (principal: Principal): Env[] =>
  principal.reach === 'test' ? ['test'] : ['live', 'test']
