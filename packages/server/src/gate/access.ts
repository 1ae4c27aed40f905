import { Refusal } from '../platform/refusal.ts'
import { type CredentialKind, type Principal, type Role, roles } from './principal.ts'

/** Who may call a route. A route without it does not compile: nothing is open by default. */
export type Access =
  | { readonly open: true }
  | {
      readonly open?: never
      readonly credentials: readonly CredentialKind[]
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

/** What a vendor's backend and its people read. */
export const readers: Access = {
  credentials: ['secret_key', 'session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: true,
}
/** What is billed: live, and no business of a test credential. */
export const liveReaders: Access = { ...readers, liveOnly: true }
/** What the vendor's own servers read; no person has a reason to. */
export const nodes: Access = { ...readers, credentials: ['secret_key'] }
/** Changes to what carries an environment; a test credential changes what is test. */
export const editors: Access = { ...readers, role: 'admin' }
/** Changes to what carries no environment. */
export const liveEditors: Access = { ...editors, liveOnly: true }
/** Changes to who may act in the workspace. */
export const owners: Access = { ...liveEditors, role: 'owner' }
/** What a vendor's backend does for its customers. */
export const backends: Access = { ...editors, credentials: ['secret_key'], noOrigin: true }
/** A vendor's customer, in a browser, about the keys of one tenant. */
export const embedded: Access = { ...readers, credentials: ['embed_token'] }
/** A signed-in person, about themselves: no role of a workspace has a say in it. */
export const people: Access = {
  credentials: ['session'],
  role: 'member',
  liveOnly: false,
  inWorkspace: false,
}

/**
 * Refuses a principal that may not call a route: kind of credential first, then workspace and role, then environment.
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

/** Refuses a test credential that names the live environment, in body or query alike. An open route has no principal. */
export function assertEnvReach(principal: Principal | null, input: unknown): void {
  const env = (input as { env?: unknown } | null)?.env
  if (principal?.reach === 'test' && env === 'live') throw new Refusal('env_mismatch')
}
