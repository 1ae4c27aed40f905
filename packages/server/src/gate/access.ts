import type { Permission } from '@keyrail/contract/vendor/permissions'
import { Refusal } from '../platform/refusal.ts'
import { type CredentialKind, isUnlimited, type Principal, type Role, roles } from './principal.ts'

interface Terms {
  /** The lowest role that is allowed. */
  readonly role: Role
  /** Whether test credentials are refused: for unsafe methods on data without an environment. */
  readonly liveOnly: boolean
  /** Whether the credential must act in a workspace. */
  readonly inWorkspace: boolean
  /** Whether a request with an `Origin` is refused, because this credential must never be in a page. */
  readonly noOrigin?: true
  /** Set when a person may call the route before their address is verified, where only invited people sign up. */
  readonly whileUnverified?: true
  /** The scope that an embed token needs. */
  readonly embedScope?: 'keys:read' | 'keys:write' | 'network:write'
}

/** The terms of a route that accepts no secret key. */
interface PeopleTerms extends Terms {
  readonly credentials: readonly CredentialKind[] & readonly Exclude<CredentialKind, 'secret_key'>[]
  readonly permission?: never
}

/** The terms of a route that accepts secret keys, with the permission that a key with a list of permissions needs. */
interface KeyTerms extends Terms {
  readonly credentials: readonly CredentialKind[]
  readonly permission: Permission
  /**
   * Set when the room limits a key that is bound to projects to these projects. Without it such a key is refused, because
   * the route returns or changes data of the whole workspace.
   */
  readonly withinProjects?: true
  /** Set when the route can grant the access of an owner, so that every limited key is refused. */
  readonly unlimitedOnly?: true
}

/** The access rules of a route. A route without them does not compile, so none is open by accident. */
export type Access = { readonly open: true } | ((PeopleTerms | KeyTerms) & { readonly open?: never })

/** The access rule of a route that accepts secret keys. */
export type KeyAccess = KeyTerms & { readonly open?: never }
/** Completes the rule with the permission that the contract names for the route. */
type Rule = (permission: Permission) => KeyAccess

/** Reads of a vendor's backend and people. */
export const readers: Rule = permission => ({
  credentials: ['secret_key', 'session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: true,
  permission,
})
/** Reads of billing data, which test credentials cannot see. */
export const liveReaders: Rule = permission => ({ ...readers(permission), liveOnly: true })
/** Reads of the vendor's servers; people do not need them. */
export const nodes: Rule = permission => ({ ...readers(permission), credentials: ['secret_key'] })
/** Changes of data with an environment; a test credential changes test data. */
export const editors: Rule = permission => ({ ...readers(permission), role: 'admin' })
/** Changes of data without an environment. */
export const liveEditors: Rule = permission => ({ ...editors(permission), liveOnly: true })
/** Changes of access to the workspace. */
export const owners: Rule = permission => ({ ...liveEditors(permission), role: 'owner' })
/** Calls of a vendor's backend on behalf of its customers. */
export const backends: Rule = permission => ({
  ...editors(permission),
  credentials: ['secret_key'],
  noOrigin: true,
})
/** Calls of an owner's backend that give away what opens the workspace's APIs. */
export const ownerBackends: Rule = permission => ({ ...backends(permission), role: 'owner', liveOnly: true })
/** Also for keys that are bound to projects: the room limits them to these. */
export const withinProjects =
  (rule: Rule): Rule =>
  permission => ({ ...rule(permission), withinProjects: true })
/** Only for keys without limits. */
export const unlimitedOnly =
  (rule: Rule): Rule =>
  permission => ({ ...rule(permission), unlimitedOnly: true })

/** A browser of a vendor's customer, for the keys of one tenant. */
export const embedded = {
  credentials: ['embed_token'],
  role: 'member',
  liveOnly: false,
  inWorkspace: true,
} as const satisfies Access
/** A signed-in person and their own account. Roles in workspaces do not matter. */
export const people = {
  credentials: ['session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: false,
  whileUnverified: true,
} as const satisfies Access

/**
 * Refuses a principal that may not call a route: first by kind of credential, then by workspace and role, then by
 * environment, then by the limits of a secret key. Each condition must hold by itself.
 * @param hasOrigin whether the request has an `Origin` header, whatever its value.
 */
export function assertAccess(principal: Principal, access: Access, hasOrigin: boolean): void {
  if (access.open) return
  if (!access.credentials.includes(principal.kind)) {
    throw new Refusal('credential_not_accepted', `This route accepts ${access.credentials.join(' or ')}.`)
  }
  if (principal.workspaceId === null) {
    if (access.inWorkspace) throw new Refusal(principal.isUnproven ? 'workspace_unproven' : 'no_workspace')
  } else if (roles.indexOf(principal.role) < roles.indexOf(access.role)) {
    throw new Refusal(access.role === 'owner' ? 'owner_required' : 'forbidden')
  }
  if (access.liveOnly && principal.reach === 'test') throw new Refusal('live_credential_required')
  if (access.permission !== undefined) assertWithinLimits(principal, access)
  if (access.noOrigin && hasOrigin) {
    throw new Refusal(
      'origin_not_allowed',
      'A secret key must stay on your server, but this request comes from a page.',
    )
  }
  const { embedScope } = access
  if (embedScope !== undefined && !principal.embed?.scopes.includes(embedScope)) {
    throw new Refusal('insufficient_scope', `The embed token lacks the scope ${embedScope}.`)
  }
}

/**
 * Refuses a person without a verified address beyond their own account. Where sign-up is not open, the address is
 * the whole admission, and the one who typed it need not own it.
 */
export function assertVerified({ isUnverified }: Principal, access: Access): void {
  if (access.open || !isUnverified || access.whileUnverified) return
  throw new Refusal('email_not_verified', 'Open the link that was mailed at sign-up, or request another one.')
}

function assertWithinLimits(principal: Principal, access: KeyTerms): void {
  const { permission } = access
  if (principal.permissions !== null && !principal.permissions.has(permission)) {
    throw new Refusal('insufficient_permission', `The secret key lacks the permission ${permission}.`)
  }
  if (access.unlimitedOnly === true && !isUnlimited(principal)) {
    throw new Refusal(
      'insufficient_permission',
      'This needs a person or a secret key without permissions, project_ids and allowed_cidrs.',
    )
  }
  if (principal.projectIds !== null && access.withinProjects !== true) {
    throw new Refusal('whole_workspace_required')
  }
}

/** Refuses a test credential that names the live environment in body or query. An open route has no principal. */
export function assertEnvReach(principal: Principal | null, input: unknown): void {
  const env = (input as { env?: unknown } | null)?.env
  if (principal?.reach === 'test' && env === 'live') throw new Refusal('env_mismatch')
}
