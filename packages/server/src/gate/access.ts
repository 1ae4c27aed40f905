import type { Permission } from '@keyrail/contract/vendor/permissions'
import { Refusal } from '../platform/refusal.ts'
import { type CredentialKind, isUnlimited, type Principal, type Role, roles } from './principal.ts'

interface Terms {
  /** The least role. */
  readonly role: Role
  /** Whether a test credential is refused: unsafe methods on what carries no environment. */
  readonly liveOnly: boolean
  /** Whether the credential must act in a workspace. */
  readonly inWorkspace: boolean
  /** Whether a request with an `Origin` is refused: it comes from a page, where this credential must never be. */
  readonly noOrigin?: true
  /** What an embed token must be for. */
  readonly embedScope?: 'keys:read' | 'keys:write'
}

/** The terms of a route that takes no secret key. */
interface PeopleTerms extends Terms {
  readonly credentials: readonly CredentialKind[] & readonly Exclude<CredentialKind, 'secret_key'>[]
  readonly permission?: never
}

/** The terms of a route that takes secret keys: it names what a key with a list of permissions must have. */
interface KeyTerms extends Terms {
  readonly credentials: readonly CredentialKind[]
  readonly permission: Permission
  /**
   * That the room shows a key which is bound to projects nothing beyond them. Without it such a key is refused: what is
   * told or changed is of the whole workspace.
   */
  readonly withinProjects?: true
  /** That the route gives away as much as an owner has, so that a key which is limited in any way is refused. */
  readonly unlimitedOnly?: true
}

/** Who may call a route. A route without it does not compile: nothing is open by default. */
export type Access = { readonly open: true } | ((PeopleTerms | KeyTerms) & { readonly open?: never })

type OfKeys = KeyTerms & { readonly open?: never }

/** What a vendor's backend and its people read. */
export const readers = (permission: Permission): OfKeys => ({
  credentials: ['secret_key', 'session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: true,
  permission,
})
/** What is billed: live, and no business of a test credential. */
export const liveReaders = (permission: Permission): OfKeys => ({ ...readers(permission), liveOnly: true })
/** What the vendor's own servers read; no person has a reason to. */
export const nodes = (permission: Permission): OfKeys => ({
  ...readers(permission),
  credentials: ['secret_key'],
})
/** Changes to what carries an environment; a test credential changes what is test. */
export const editors = (permission: Permission): OfKeys => ({ ...readers(permission), role: 'admin' })
/** Changes to what carries no environment. */
export const liveEditors = (permission: Permission): OfKeys => ({ ...editors(permission), liveOnly: true })
/** Changes to who may act in the workspace. */
export const owners = (permission: Permission): OfKeys => ({ ...liveEditors(permission), role: 'owner' })
/** What a vendor's backend does for its customers. */
export const backends = (permission: Permission): OfKeys => ({
  ...editors(permission),
  credentials: ['secret_key'],
  noOrigin: true,
})
/** The same for keys that are bound to projects: the room sees to it that they reach no other. */
export const withinProjects = (access: OfKeys): OfKeys => ({ ...access, withinProjects: true })
/** The same for keys without limits alone. */
export const unlimitedOnly = (access: OfKeys): OfKeys => ({ ...access, unlimitedOnly: true })

/** A vendor's customer, in a browser, about the keys of one tenant. */
export const embedded = {
  credentials: ['embed_token'],
  role: 'member',
  liveOnly: false,
  inWorkspace: true,
} as const satisfies Access
/** A signed-in person, about themselves: no role of a workspace has a say in it. */
export const people: Access = {
  credentials: ['session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: false,
}

/**
 * Refuses a principal that may not call a route: kind of credential first, then workspace and role, then environment,
 * then what a secret key is limited to.
 * Each condition stands alone, so that none can make up for another.
 * @param hasOrigin whether the request has an `Origin` header, whatever it says.
 */
export function assertAccess(principal: Principal, access: Access, hasOrigin: boolean): void {
  if (access.open) return
  if (!access.credentials.includes(principal.kind)) {
    throw new Refusal('credential_not_accepted', `This route takes ${access.credentials.join(' or ')}.`)
  }
  if (principal.workspaceId === null) {
    if (access.inWorkspace) throw new Refusal('no_workspace')
  } else if (roles.indexOf(principal.role) < roles.indexOf(access.role)) {
    throw new Refusal(access.role === 'owner' ? 'owner_required' : 'forbidden')
  }
  if (access.liveOnly && principal.reach === 'test') throw new Refusal('live_credential_required')
  if (access.permission !== undefined) assertWithinLimits(principal, access)
  if (access.noOrigin && hasOrigin) {
    throw new Refusal(
      'origin_not_allowed',
      'A secret key belongs to your server, and this request comes from a page.',
    )
  }
  const { embedScope } = access
  if (embedScope !== undefined && !principal.embed?.scopes.includes(embedScope)) {
    throw new Refusal('insufficient_scope', `The embed token lacks the scope ${embedScope}.`)
  }
}

function assertWithinLimits(principal: Principal, access: KeyTerms): void {
  const { permission } = access
  if (principal.permissions !== null && !principal.permissions.has(permission)) {
    throw new Refusal('insufficient_permission', `The secret key lacks the permission ${permission}.`)
  }
  if (access.unlimitedOnly === true && !isUnlimited(principal)) {
    throw new Refusal(
      'insufficient_permission',
      'This takes a person, or a secret key without permissions, project_ids and allowed_cidrs.',
    )
  }
  if (principal.projectIds !== null && access.withinProjects !== true) {
    throw new Refusal('whole_workspace_required')
  }
}

/** Refuses a test credential that names the live environment, in body or query alike. An open route has no principal. */
export function assertEnvReach(principal: Principal | null, input: unknown): void {
  const env = (input as { env?: unknown } | null)?.env
  if (principal?.reach === 'test' && env === 'live') throw new Refusal('env_mismatch')
}
