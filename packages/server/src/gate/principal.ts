import type { EmbedTheme, Env, Role } from '@keyrail/contract/shared'
import type { Permission } from '@keyrail/contract/vendor/permissions'
import type { Network } from '../platform/network/cidr.ts'
import { Refusal } from '../platform/refusal.ts'
import type { ReadHead } from './read-head.ts'

export type { Role }

const credentialKinds = ['secret_key', 'session', 'bootstrap', 'embed_token'] as const
export type CredentialKind = (typeof credentialKinds)[number]

/** In rising order: each role includes those before it. */
export const roles: readonly Role[] = ['member', 'admin', 'owner']

/**
 * The limits of a secret key; null means no limit of that kind. Sessions and the bootstrap token have none.
 */
export interface KeyLimits {
  readonly permissions: ReadonlySet<Permission> | null
  /** The only projects that it can see. */
  readonly projectIds: readonly string[] | null
  /** The only networks that it works from. */
  readonly networks: readonly Network[] | null
}

export const unlimited: KeyLimits = { permissions: null, projectIds: null, networks: null }

/** Whether a credential can do everything that its role allows, from everywhere. */
export const isUnlimited = ({ permissions, projectIds, networks }: KeyLimits): boolean =>
  permissions === null && projectIds === null && networks === null

/** The authenticated caller. All of it comes from the credential, never from body or query. */
export interface Principal extends KeyLimits {
  readonly kind: CredentialKind
  /** The id of the secret key, the person or the embed token; null for the bootstrap token, which has no record. */
  readonly id: string | null
  /** Null for every credential but a session. */
  readonly sessionId: string | null
  /** Null for a credential without a workspace. */
  readonly workspaceId: string | null
  /** Set for a person whose address is not verified. */
  readonly isUnverified?: true
  /** Set for a session in a workspace that its person has yet to decide about: it acts in none until then. */
  readonly isUnproven?: true
  /** The role in the workspace. Without a workspace it has no meaning. */
  readonly role: Role
  /** A test key can access test only; every other credential both environments. */
  readonly reach: 'test' | 'both'
  /** What an embed token grants; undefined for every other credential. */
  readonly embed?: EmbedGrant
  /**
   * Until when its look-up may be reused, on the monotonic clock in milliseconds; undefined for a look-up made for this
   * request alone.
   */
  readonly reusableUntil?: number
  /** The head of the project that a poll names, as its look-up has read it. */
  readonly readHead?: ReadHead
}

/** What an embed token grants, as verified for this request. */
export interface EmbedGrant {
  readonly vendorName: string
  readonly tenant: {
    readonly id: string
    readonly externalId: string
    readonly name: string | null
    /** Raised to end all tokens of the tenant. */
    readonly epoch: number
    /** Then `scopes` has nothing that writes. */
    readonly isSuspended: boolean
    /** From which its keys may be used that have none of their own; empty: any. */
    readonly networks: readonly string[]
  }
  readonly project: {
    readonly id: string
    readonly name: string
    /** Whether it has a list of scopes to offer. */
    readonly listsScopes: boolean
  }
  readonly env: Env
  readonly scopes: readonly string[]
  /** How the widget looks, as the workspace has set it. */
  readonly theme: EmbedTheme
  /** The secret key that minted the token. */
  readonly mintedBy: string
  readonly expiresAt: Date
}

/** A principal with a workspace, which the gate has checked. */
export interface VendorPrincipal extends Principal {
  readonly workspaceId: string
}

/** A signed-in person. */
export interface PersonPrincipal extends Principal {
  readonly id: string
  readonly sessionId: string
}

/** A browser of a vendor's customer. */
export interface EmbedPrincipal extends VendorPrincipal {
  readonly embed: EmbedGrant
}

/** The part of a workspace that a principal can see. Everything else is treated as missing. */
export interface Sight {
  readonly envs: readonly Env[]
  /** Null: all projects. */
  readonly projectIds: readonly string[] | null
}

export const sightOf = (principal: Principal): Sight => ({
  envs: visibleEnvs(principal),
  projectIds: principal.projectIds,
})

/** @throws {Refusal} `not_found`, for a project that the principal cannot see as for a missing one. */
export function assertSeesProject({ projectIds }: Principal, id: string): void {
  if (projectIds !== null && !projectIds.includes(id.toLowerCase())) throw new Refusal('not_found')
}

/** The environments that a principal can see, for `env = any($n)` in a statement. */
export const visibleEnvs = (principal: Principal): Env[] =>
  principal.reach === 'test' ? ['test'] : ['live', 'test']

/** The owner on whose account a request takes memory and turns. */
export const ownerOf = ({ kind, id, workspaceId }: Principal): string => workspaceId ?? `${kind} ${id}`
