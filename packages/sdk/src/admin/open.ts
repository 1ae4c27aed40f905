/**
 * Manages a workspace. `request.ts` calls, `list.ts` pages, `export.ts` streams, `types.ts` has the types of the
 * contract, and `names.ts` converts their names.
 */

import { createHttpCaller, createHttpSender } from '../http/call.ts'
import {
  type ConnectionOptions,
  connectionNames,
  readConnectionParts,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readInteger, readUuid } from '../http/option-values.ts'
import { refuseBrowser } from '../runtime/refuse-browser.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import { exportRows } from './export.ts'
import { type Listing, listOf } from './list.ts'
import { type AdminRequest, type CallOptions, createAdminRequest, type KeyedOptions } from './request.ts'
import { type RevokeBody, type RotateBody, resourceOf } from './resource.ts'
import type * as t from './types.ts'

export interface AdminOptions extends ConnectionOptions {
  /** Time limit of one attempt in ms, 30,000 by default: a revocation that waits for the fleet takes up to 15 s. */
  timeoutMs?: number | undefined
  /** How often a failed call is repeated, if repeating it is safe. 0 to 10, 2 by default. */
  maxRetries?: number | undefined
}

const known: { readonly [Name in keyof Required<AdminOptions>]: true } = {
  ...connectionNames,
  timeoutMs: true,
  maxRetries: true,
}
export const adminOptionNames = Object.keys(known)

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
  refuseUnknown('createAdmin', options, known)
  const connection = readConnectionParts(options)
  const defaults = {
    ...world,
    timeoutMs: readInteger('timeoutMs', options.timeoutMs ?? 30_000, 1, 600_000),
    maxRetries: readInteger('maxRetries', options.maxRetries ?? 2, 0, 10),
  }
  const request = createAdminRequest(createHttpCaller(connection), defaults)
  return {
    ...accountCalls(request),
    projects: projectCalls(request),
    tenants: tenantCalls(request),
    keys: keyCalls(request),
    secretKeys: secretKeyCalls(request),
    embedTokens: {
      /** `POST /v1/embed_tokens`. A token for the browser of one tenant, valid for five minutes. */
      create: (body: t.EmbedTokenCreate, options?: CallOptions): Promise<t.EmbedToken> =>
        request<t.EmbedToken>({
          method: 'POST',
          path: '/v1/embed_tokens',
          body,
          status: 201,
          object: 'embed_token',
          options,
        }),
    },
    auditLogs: {
      /** `GET /v1/audit_logs`. In rising order of `seq`, or with `order: 'desc'` the newest first. */
      list: (query?: t.AuditLogList, options?: CallOptions): Listing<t.AuditLog> =>
        listOf<t.AuditLog>(request, '/v1/audit_logs', query, options),
      /**
       * `GET /v1/audit_logs/export`.
       * All rows, or those after row `afterSeq`, in one stream, read as fast as you take them. A broken stream continues
       * after the last row. `timeoutMs` limits the wait for more data, not the whole.
       */
      export: (query?: t.AuditExport, options?: CallOptions): AsyncIterable<t.AuditLog> =>
        exportRows<t.AuditLog>(createHttpSender(connection), query, defaults, options),
      /** `GET /v1/audit_logs/chain` */
      chain: (options?: CallOptions): Promise<t.AuditChain> =>
        request<t.AuditChain>({ path: '/v1/audit_logs/chain', object: 'audit_chain', options }),
    },
    securityEvents: {
      /** `GET /v1/security_events`. Newest first. Needs a key with the role owner. */
      list: (query?: t.SecurityEventList, options?: CallOptions): Listing<t.SecurityEvent> =>
        listOf<t.SecurityEvent>(request, '/v1/security_events', query, options),
    },
    usage: {
      /** `GET /v1/usage/daily`. Requests of the workspace, a project, a tenant, or a tenant in a project. */
      daily: (query?: t.DailyUsageQuery, options?: CallOptions): Promise<t.DailyUsage> =>
        request<t.DailyUsage>({ path: '/v1/usage/daily', query, object: 'daily_usage', options }),
      /** `GET /v1/usage/top`. The tenants, projects or keys with the most requests. Needs `overview:read`. */
      top: (query?: t.TopUsageQuery, options?: CallOptions): Promise<t.TopUsage> =>
        request<t.TopUsage>({ path: '/v1/usage/top', query, object: 'top_usage', options }),
      /** `GET /v1/usage/refusals`. Requests that nodes refused, by reason, of the workspace or a project. */
      refusals: (query?: t.RefusalsQuery, options?: CallOptions): Promise<t.Refusals> =>
        request<t.Refusals>({ path: '/v1/usage/refusals', query, object: 'refusals', options }),
      /** `GET /v1/usage/billing` */
      billing: (query?: t.BillingUsageQuery, options?: CallOptions): Promise<t.BillingUsage> =>
        request<t.BillingUsage>({ path: '/v1/usage/billing', query, object: 'billing_usage', options }),
      /** `GET /v1/usage/tenants` */
      tenants: (query?: t.TenantUsageQuery, options?: CallOptions): Listing<t.TenantUsage> =>
        listOf<t.TenantUsage>(request, '/v1/usage/tenants', query, options),
    },
  }
}

function accountCalls(request: AdminRequest) {
  const workspace = { path: '/v1/workspace', object: 'workspace' } as const
  const members = resourceOf(request, '/v1/members', 'member')
  const invites = resourceOf(request, '/v1/invites', 'invitation')
  return {
    workspace: {
      /** `GET /v1/workspace` */
      get: (options?: CallOptions): Promise<t.Workspace> => request<t.Workspace>({ ...workspace, options }),
      /** `PATCH /v1/workspace` */
      update: (body: t.WorkspaceUpdate, options?: CallOptions): Promise<t.Workspace> =>
        request<t.Workspace>({ method: 'PATCH', ...workspace, body, options }),
      /** `GET /v1/overview`. Keys, requests, nodes, billable tenants, and what needs attention. */
      overview: (query?: t.OverviewQuery, options?: CallOptions): Promise<t.Overview> =>
        request<t.Overview>({ path: '/v1/overview', query, object: 'overview', options }),
    },
    members: {
      /** `GET /v1/members` */
      list: members.list as (query?: t.MemberList, options?: CallOptions) => Listing<t.Member>,
      /** `PATCH /v1/members/:userId` */
      update: members.update as (
        userId: string,
        body: t.MemberUpdate,
        options?: CallOptions,
      ) => Promise<t.ChangedMember>,
      /** `DELETE /v1/members/:userId`. `revokeKeys` also revokes the keys made by this person, the keys made with those, and so on. */
      remove: (
        userId: string,
        query?: { revokeKeys?: boolean },
        options?: CallOptions,
      ): Promise<t.RemovedMember> => members.delete<t.RemovedMember>(userId, options, query),
    },
    invites: {
      /** `POST /v1/invites` */
      create: invites.create as (body: t.InviteCreate, options?: KeyedOptions) => Promise<t.CreatedInvite>,
      /** `GET /v1/invites` */
      list: invites.list as (query?: t.InviteList, options?: CallOptions) => Listing<t.Invite>,
      /** `POST /v1/invites/:id/revoke` */
      revoke: (id: string, options?: CallOptions): Promise<t.Invite> =>
        invites.revoke<t.Invite>(id, {}, options),
    },
  }
}

function projectCalls(request: AdminRequest) {
  const resource = resourceOf(request, '/v1/projects', 'project')
  return {
    /** `POST /v1/projects` */
    create: resource.create as (body: t.ProjectCreate, options?: KeyedOptions) => Promise<t.Project>,
    /** `GET /v1/projects` */
    list: resource.list as (query?: t.ProjectList, options?: CallOptions) => Listing<t.Project>,
    /** `GET /v1/projects/:id` */
    get: resource.one as (id: string, options?: CallOptions) => Promise<t.Project>,
    /** `PATCH /v1/projects/:id` */
    update: resource.update as (
      id: string,
      body: t.ProjectUpdate,
      options?: CallOptions,
    ) => Promise<t.Project>,
    /** `DELETE /v1/projects/:id`. Revokes every key of the project. */
    delete: resource.delete as (id: string, options?: CallOptions) => Promise<t.DeletedProject>,
    /** `GET /v1/projects/:id/nodes`. The servers that hold the keys of the project, the last seen first. */
    nodes: (id: string, query?: t.NodeList, options?: CallOptions): Listing<t.FleetNode> =>
      listOf<t.FleetNode>(request, `/v1/projects/${readUuid('id', id)}/nodes`, query, options),
  }
}

function tenantCalls(request: AdminRequest) {
  const resource = resourceOf(request, '/v1/tenants', 'tenant')
  return {
    /** `POST /v1/tenants` */
    create: resource.create as (body: t.TenantCreate, options?: KeyedOptions) => Promise<t.Tenant>,
    /** `GET /v1/tenants` */
    list: resource.list as (query?: t.TenantList, options?: CallOptions) => Listing<t.Tenant>,
    /** `GET /v1/tenants/:id`. This and the methods below also take `external:acme` as id. */
    get: resource.one as (id: string, options?: CallOptions) => Promise<t.Tenant>,
    /** `PATCH /v1/tenants/:id` */
    update: resource.update as (id: string, body: t.TenantUpdate, options?: CallOptions) => Promise<t.Tenant>,
    /** `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request. */
    revokeEmbedTokens: (id: string, options?: CallOptions): Promise<t.EmbedTokensRevoked> =>
      resource.one<t.EmbedTokensRevoked>(id, options, {
        method: 'POST',
        below: '/embed_tokens/revoke',
        body: {},
        object: 'embed_tokens_revocation',
      }),
    /** `DELETE /v1/tenants/:id`. Revokes every key of the tenant. */
    delete: resource.delete as (id: string, options?: CallOptions) => Promise<t.DeletedTenant>,
  }
}

function keyCalls(request: AdminRequest) {
  const resource = resourceOf(request, '/v1/keys', 'api_key')
  return {
    /** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
    create: resource.create as (body: t.KeyCreate, options?: KeyedOptions) => Promise<t.CreatedKey>,
    /** `GET /v1/keys` */
    list: resource.list as (query?: t.KeyList, options?: CallOptions) => Listing<t.Key>,
    /** `GET /v1/keys/:id` */
    get: resource.one as (id: string, options?: CallOptions) => Promise<t.Key>,
    /** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
    identify: (key: string, options?: CallOptions): Promise<t.Key> =>
      request<t.Key>({
        method: 'POST',
        path: '/v1/keys/identify',
        body: { key },
        object: 'api_key',
        options,
      }),
    /** `PATCH /v1/keys/:id` */
    update: resource.update as (id: string, body: t.KeyUpdate, options?: CallOptions) => Promise<t.Key>,
    /** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
    rotate: resource.rotate as (
      id: string,
      body?: RotateBody,
      options?: KeyedOptions,
    ) => Promise<t.RotatedKey>,
    /**
     * `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not.
     */
    revoke: resource.revoke as (
      id: string,
      body?: RevokeBody & { wait?: boolean },
      options?: CallOptions,
    ) => Promise<t.RevokedKey>,
    /** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
    deleteEnded: (query?: t.EndedKeysQuery, options?: CallOptions): Promise<t.EndedKeysDeleted> =>
      deleteEnded(request, '/v1/keys/ended', query, options),
    /** `GET /v1/keys/:id/usage` */
    usage: (id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage> =>
      resource.one<t.KeyUsage>(id, options, { below: '/usage', query, object: 'key_usage' }),
  }
}

function secretKeyCalls(request: AdminRequest) {
  const resource = resourceOf(request, '/v1/secret_keys', 'secret_key')
  return {
    /** `POST /v1/secret_keys` */
    create: resource.create as (
      body: t.SecretKeyCreate,
      options?: KeyedOptions,
    ) => Promise<t.CreatedSecretKey>,
    /** `GET /v1/secret_keys` */
    list: resource.list as (query?: t.SecretKeyList, options?: CallOptions) => Listing<t.SecretKey>,
    /** `GET /v1/secret_keys/:id` */
    get: resource.one as (id: string, options?: CallOptions) => Promise<t.ReadSecretKey>,
    /** `PATCH /v1/secret_keys/:id`. Only the name and `meta` change. */
    update: resource.update as (
      id: string,
      body: t.SecretKeyUpdate,
      options?: CallOptions,
    ) => Promise<t.SecretKey>,
    /** `POST /v1/secret_keys/:id/rotate` */
    rotate: resource.rotate as (
      id: string,
      body?: RotateBody,
      options?: KeyedOptions,
    ) => Promise<t.RotatedSecretKey>,
    /**
     * `POST /v1/secret_keys/:id/revoke`. `descendants` of the answer are the newest of the keys made with it, the keys made
     * with those, and so on; `cascade` revokes them too. While that goes on, the answer and `get` have `cascade.state`
     * `running`.
     */
    revoke: resource.revoke as (
      id: string,
      body?: t.SecretKeyRevoke,
      options?: CallOptions,
    ) => Promise<t.RevokedSecretKey>,
    /** `DELETE /v1/secret_keys/ended`. An owner deletes a batch of revoked and expired ones; repeat it while `hasMore`. */
    deleteEnded: (query?: t.EndedSecretKeysQuery, options?: CallOptions): Promise<t.EndedKeysDeleted> =>
      deleteEnded(request, '/v1/secret_keys/ended', query, options),
  }
}

const deleteEnded = (request: AdminRequest, path: string, query?: object, options?: CallOptions) =>
  request<t.EndedKeysDeleted>({ method: 'DELETE', path, query, object: 'ended_keys_deletion', options })
