/**
 * Manages a workspace. `calls.ts` calls a route by its name, `request.ts` sends, `list.ts` pages, `export.ts` streams,
 * `types.ts` has the types of the contract, and `names.ts` converts their names.
 */

import { createHttpCaller, createHttpSender } from '../http/call.ts'
import { refuseBrowser } from '../runtime/refuse-browser.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { type Calls, createCalls } from './calls.ts'
import { exportRows } from './export.ts'
import type { Listing } from './list.ts'
import { type AdminOptions, type RevokeBody, type RotateBody, readAdminOptions } from './options.ts'
import { type CallOptions, createAdminRequest, type KeyedOptions } from './request.ts'
import type * as t from './types.ts'

/** Manages a workspace; made by `createAdmin`. Each method names the route that it calls. */
export interface Admin extends ReturnType<typeof openAdmin> {}

/**
 * Manages a workspace with its secret key. Every call rejects with a `KeyrailError` (`code`, `status`, `requestId`).
 * Tenant ids, also `tenantId` in a query or body, may be given as `external:acme`: the tenant whose `externalId` is `acme`.
 *
 * @throws TypeError naming a missing or wrong option; Error in a browser
 */
export function createAdmin(options: AdminOptions = {}): Admin {
  return openAdmin(options, { timer: systemTimer, random: Math.random })
}

/** `createAdmin` with the caller's own timer and randomness. */
export function openAdmin(options: AdminOptions, world: { timer: Timer; random: () => number }) {
  refuseBrowser()
  const { connection, ...limits } = readAdminOptions(options)
  const defaults = { ...world, ...limits }
  const request = createAdminRequest(createHttpCaller(connection), defaults)
  const calls = createCalls(request)
  const { call, list } = calls
  return {
    ...peopleCalls(calls),
    projects: projectCalls(calls),
    tenants: tenantCalls(calls),
    keys: keyCalls(calls),
    secretKeys: secretKeyCalls(calls),
    embedTokens: {
      /** `POST /v1/embed_tokens`. A token for the browser of one tenant, valid for five minutes. */
      create: (body: t.EmbedTokenCreate, options?: CallOptions): Promise<t.EmbedToken> =>
        call('POST /v1/embed_tokens', { object: 'embed_token', status: 201, body, options }),
    },
    auditLogs: {
      /** `GET /v1/audit_logs`. In rising order of `seq`, or with `order: 'desc'` the newest first. */
      list: (query?: t.AuditLogList, options?: CallOptions): Listing<t.AuditLog> =>
        list('GET /v1/audit_logs', { query, options }),
      /**
       * `GET /v1/audit_logs/export`.
       * All rows, or those after row `afterSeq`, in one stream, read as fast as you take them. A broken stream continues
       * after the last row. `timeoutMs` limits the wait for more data, not the whole.
       */
      export: (query?: t.AuditExport, options?: CallOptions): AsyncIterable<t.AuditLog> =>
        exportRows<t.AuditLog>(createHttpSender(connection), query, defaults, options),
      /** `GET /v1/audit_logs/chain` */
      chain: (options?: CallOptions): Promise<t.AuditChain> =>
        call('GET /v1/audit_logs/chain', { object: 'audit_chain', options }),
    },
    securityEvents: {
      /** `GET /v1/security_events`. Newest first. Needs a key with the role owner. */
      list: (query?: t.SecurityEventList, options?: CallOptions): Listing<t.SecurityEvent> =>
        list('GET /v1/security_events', { query, options }),
    },
    usage: usageCalls(calls),
  }
}

const peopleCalls = ({ call, list }: Calls) => ({
  workspace: {
    /** `GET /v1/workspace` */
    get: (options?: CallOptions): Promise<t.Workspace> =>
      call('GET /v1/workspace', { object: 'workspace', options }),
    /** `PATCH /v1/workspace` */
    update: (body: t.WorkspaceUpdate, options?: CallOptions): Promise<t.Workspace> =>
      call('PATCH /v1/workspace', { object: 'workspace', body, options }),
    /** `GET /v1/overview`. Keys, requests, nodes, billable tenants, and what needs attention. */
    overview: (query?: t.OverviewQuery, options?: CallOptions): Promise<t.Overview> =>
      call('GET /v1/overview', { object: 'overview', query, options }),
  },
  members: {
    /** `GET /v1/members` */
    list: (query?: t.MemberList, options?: CallOptions): Listing<t.Member> =>
      list('GET /v1/members', { query, options }),
    /** `PATCH /v1/members/:userId` */
    update: (userId: string, body: t.MemberUpdate, options?: CallOptions): Promise<t.ChangedMember> =>
      call('PATCH /v1/members/:userId', { object: 'member', id: userId, body, options }),
    /** `DELETE /v1/members/:userId`. `revokeKeys` also revokes the keys made by this person, the keys made with those, and so on. */
    remove: (
      userId: string,
      query?: { revokeKeys?: boolean },
      options?: CallOptions,
    ): Promise<t.RemovedMember> =>
      call('DELETE /v1/members/:userId', { object: 'member', id: userId, query, options }),
  },
  invites: {
    /** `POST /v1/invites` */
    create: (body: t.InviteCreate, options?: KeyedOptions): Promise<t.CreatedInvite> =>
      call('POST /v1/invites', { object: 'invitation', status: 201, keyed: true, body, options }),
    /** `GET /v1/invites` */
    list: (query?: t.InviteList, options?: CallOptions): Listing<t.Invite> =>
      list('GET /v1/invites', { query, options }),
    /** `POST /v1/invites/:id/revoke` */
    revoke: (id: string, options?: CallOptions): Promise<t.Invite> =>
      call('POST /v1/invites/:id/revoke', { object: 'invitation', id, options }),
  },
})

const usageCalls = ({ call, list }: Calls) => ({
  /** `GET /v1/usage/daily`. Requests of the workspace, a project, a tenant, or a tenant in a project. */
  daily: (query?: t.DailyUsageQuery, options?: CallOptions): Promise<t.DailyUsage> =>
    call('GET /v1/usage/daily', { object: 'daily_usage', query, options }),
  /** `GET /v1/usage/top`. The tenants, projects or keys with the most requests. Needs `overview:read`. */
  top: (query?: t.TopUsageQuery, options?: CallOptions): Promise<t.TopUsage> =>
    call('GET /v1/usage/top', { object: 'top_usage', query, options }),
  /** `GET /v1/usage/refusals`. Requests that nodes refused, by reason, of the workspace or a project. */
  refusals: (query?: t.RefusalsQuery, options?: CallOptions): Promise<t.Refusals> =>
    call('GET /v1/usage/refusals', { object: 'refusals', query, options }),
  /** `GET /v1/usage/billing` */
  billing: (query?: t.BillingUsageQuery, options?: CallOptions): Promise<t.BillingUsage> =>
    call('GET /v1/usage/billing', { object: 'billing_usage', query, options }),
  /** `GET /v1/usage/tenants` */
  tenants: (query?: t.TenantUsageQuery, options?: CallOptions): Listing<t.TenantUsage> =>
    list('GET /v1/usage/tenants', { query, options }),
})

/** Of a route that makes a resource, and replays its answer. */
const creates = { status: 201, keyed: true } as const

const projectCalls = ({ call, list }: Calls) => ({
  /** `POST /v1/projects` */
  create: (body: t.ProjectCreate, options?: KeyedOptions): Promise<t.Project> =>
    call('POST /v1/projects', { object: 'project', ...creates, body, options }),
  /** `GET /v1/projects` */
  list: (query?: t.ProjectList, options?: CallOptions): Listing<t.Project> =>
    list('GET /v1/projects', { query, options }),
  /** `GET /v1/projects/:id` */
  get: (id: string, options?: CallOptions): Promise<t.Project> =>
    call('GET /v1/projects/:id', { object: 'project', id, options }),
  /** `PATCH /v1/projects/:id` */
  update: (id: string, body: t.ProjectUpdate, options?: CallOptions): Promise<t.Project> =>
    call('PATCH /v1/projects/:id', { object: 'project', id, body, options }),
  /** `DELETE /v1/projects/:id`. Revokes every key of the project. */
  delete: (id: string, options?: CallOptions): Promise<t.DeletedProject> =>
    call('DELETE /v1/projects/:id', { object: 'project', id, options }),
  /** `GET /v1/projects/:id/nodes`. The servers that hold the keys of the project, the last seen first. */
  nodes: (id: string, query?: t.NodeList, options?: CallOptions): Listing<t.FleetNode> =>
    list('GET /v1/projects/:id/nodes', { id, query, options }),
})

const tenantCalls = ({ call, list }: Calls) => ({
  /** `POST /v1/tenants` */
  create: (body: t.TenantCreate, options?: KeyedOptions): Promise<t.Tenant> =>
    call('POST /v1/tenants', { object: 'tenant', ...creates, body, options }),
  /** `GET /v1/tenants` */
  list: (query?: t.TenantList, options?: CallOptions): Listing<t.Tenant> =>
    list('GET /v1/tenants', { query, options }),
  /** `GET /v1/tenants/:id`. This and the methods below also take `external:acme` as id. */
  get: (id: string, options?: CallOptions): Promise<t.Tenant> =>
    call('GET /v1/tenants/:id', { object: 'tenant', id, options }),
  /** `PATCH /v1/tenants/:id` */
  update: (id: string, body: t.TenantUpdate, options?: CallOptions): Promise<t.Tenant> =>
    call('PATCH /v1/tenants/:id', { object: 'tenant', id, body, options }),
  /** `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request. */
  revokeEmbedTokens: (id: string, options?: CallOptions): Promise<t.EmbedTokensRevoked> =>
    call('POST /v1/tenants/:id/embed_tokens/revoke', {
      object: 'embed_tokens_revocation',
      id,
      body: {},
      options,
    }),
  /** `DELETE /v1/tenants/:id`. Revokes every key of the tenant. */
  delete: (id: string, options?: CallOptions): Promise<t.DeletedTenant> =>
    call('DELETE /v1/tenants/:id', { object: 'tenant', id, options }),
})

const keyCalls = ({ call, list }: Calls) => ({
  /** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
  create: (body: t.KeyCreate, options?: KeyedOptions): Promise<t.CreatedKey> =>
    call('POST /v1/keys', { object: 'api_key', ...creates, body, options }),
  /** `GET /v1/keys` */
  list: (query?: t.KeyList, options?: CallOptions): Listing<t.Key> =>
    list('GET /v1/keys', { query, options }),
  /** `GET /v1/keys/:id` */
  get: (id: string, options?: CallOptions): Promise<t.Key> =>
    call('GET /v1/keys/:id', { object: 'api_key', id, options }),
  /** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
  identify: (key: string, options?: CallOptions): Promise<t.Key> =>
    call('POST /v1/keys/identify', { object: 'api_key', body: { key }, options }),
  /** `PATCH /v1/keys/:id` */
  update: (id: string, body: t.KeyUpdate, options?: CallOptions): Promise<t.Key> =>
    call('PATCH /v1/keys/:id', { object: 'api_key', id, body, options }),
  /** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
  rotate: (id: string, body: RotateBody = {}, options?: KeyedOptions): Promise<t.RotatedKey> =>
    call('POST /v1/keys/:id/rotate', { object: 'api_key', keyed: true, id, body, options }),
  /**
   * `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not.
   */
  revoke: (
    id: string,
    body: RevokeBody & { wait?: boolean } = {},
    options?: CallOptions,
  ): Promise<t.RevokedKey> => {
    const { wait, ...rest } = body
    return call('POST /v1/keys/:id/revoke', { object: 'api_key', id, query: { wait }, body: rest, options })
  },
  /** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
  deleteEnded: (query?: t.EndedKeysQuery, options?: CallOptions): Promise<t.EndedKeysDeleted> =>
    call('DELETE /v1/keys/ended', { object: 'ended_keys_deletion', query, options }),
  /** `GET /v1/keys/:id/usage` */
  usage: (id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage> =>
    call('GET /v1/keys/:id/usage', { object: 'key_usage', id, query, options }),
})

const secretKeyCalls = ({ call, list }: Calls) => ({
  /** `POST /v1/secret_keys` */
  create: (body: t.SecretKeyCreate, options?: KeyedOptions): Promise<t.CreatedSecretKey> =>
    call('POST /v1/secret_keys', { object: 'secret_key', ...creates, body, options }),
  /** `GET /v1/secret_keys` */
  list: (query?: t.SecretKeyList, options?: CallOptions): Listing<t.SecretKey> =>
    list('GET /v1/secret_keys', { query, options }),
  /** `GET /v1/secret_keys/:id` */
  get: (id: string, options?: CallOptions): Promise<t.ReadSecretKey> =>
    call('GET /v1/secret_keys/:id', { object: 'secret_key', id, options }),
  /** `PATCH /v1/secret_keys/:id`. Only the name and `meta` change. */
  update: (id: string, body: t.SecretKeyUpdate, options?: CallOptions): Promise<t.SecretKey> =>
    call('PATCH /v1/secret_keys/:id', { object: 'secret_key', id, body, options }),
  /** `POST /v1/secret_keys/:id/rotate` */
  rotate: (id: string, body: RotateBody = {}, options?: KeyedOptions): Promise<t.RotatedSecretKey> =>
    call('POST /v1/secret_keys/:id/rotate', { object: 'secret_key', keyed: true, id, body, options }),
  /**
   * `POST /v1/secret_keys/:id/revoke`. `descendants` of the answer are the newest of the keys made with it, the keys made
   * with those, and so on; `cascade` revokes them too. While that goes on, the answer and `get` have `cascade.state`
   * `running`.
   */
  revoke: (id: string, body: t.SecretKeyRevoke = {}, options?: CallOptions): Promise<t.RevokedSecretKey> =>
    call('POST /v1/secret_keys/:id/revoke', { object: 'secret_key', id, body, options }),
  /** `DELETE /v1/secret_keys/ended`. An owner deletes a batch of revoked and expired ones; repeat it while `hasMore`. */
  deleteEnded: (query?: t.EndedSecretKeysQuery, options?: CallOptions): Promise<t.EndedKeysDeleted> =>
    call('DELETE /v1/secret_keys/ended', { object: 'ended_keys_deletion', query, options }),
})
