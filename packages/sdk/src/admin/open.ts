/**
 * Manages a workspace. `calls.ts` calls a route by its name, `key-calls.ts` has those on keys, `request.ts` sends, `list.ts` pages, `export.ts` and `export-keys.ts` stream,
 * `types.ts` has the types of the contract, and `names.ts` converts their names.
 */

import { createHttpCaller, createHttpSender } from '../http/call.ts'
import { refuseBrowser } from '../runtime/refuse-browser.ts'
import type { Timer } from '../runtime/timer.ts'
import { type Calls, createCalls } from './calls.ts'
import { exportRows } from './export.ts'
import { exportKeys } from './export-keys.ts'
import { keyCalls } from './key-calls.ts'
import type { Listing } from './list.ts'
import type * as o from './options.ts'
import { readAdminOptions } from './options.ts'
import { type CallOptions, createAdminRequest, type KeyedOptions } from './request.ts'
import type * as t from './types.ts'

/** `createAdmin` with the caller's own timer and randomness. */
export function openAdmin(options: o.AdminOptions, world: { timer: Timer; random: () => number }) {
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
    keys: keyCalls(calls, (query, options) =>
      exportKeys<t.ExportedKey>(createHttpSender(connection), query, defaults, options),
    ),
    secretKeys: secretKeyCalls(calls),
    embedTokens: {
      /** `POST /v1/embed_tokens`. A token for the browser of one tenant, valid for five minutes. */
      create: (body: t.EmbedTokenCreate, options?: CallOptions): Promise<t.EmbedToken> =>
        call('POST /v1/embed_tokens', { object: 'embed_token', status: 201, body, options }),
    },
    auditLogs: {
      /** `GET /v1/audit_logs`. In rising order of `seq`, or with `order: 'desc'` the newest first. */
      list: list('GET /v1/audit_logs') as (
        query?: t.AuditLogList,
        options?: CallOptions,
      ) => Listing<t.AuditLog>,
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
      list: list('GET /v1/security_events') as (
        query?: t.SecurityEventList,
        options?: CallOptions,
      ) => Listing<t.SecurityEvent>,
    },
    usage: usageCalls(calls),
  }
}

const peopleCalls = ({ call, change, create, list, one, read }: Calls) => ({
  workspace: {
    /** `GET /v1/workspace` */
    get: (options?: CallOptions): Promise<t.Workspace> =>
      call('GET /v1/workspace', { object: 'workspace', options }),
    /** `PATCH /v1/workspace` */
    update: (body: t.WorkspaceUpdate, options?: CallOptions): Promise<t.Workspace> =>
      call('PATCH /v1/workspace', { object: 'workspace', body, options }),
    /** `GET /v1/overview`. Keys, requests, nodes, billable tenants, and what needs attention. */
    overview: read('GET /v1/overview', 'overview') as (
      query?: t.OverviewQuery,
      options?: CallOptions,
    ) => Promise<t.Overview>,
  },
  members: {
    /** `GET /v1/members` */
    list: list('GET /v1/members') as (query?: t.MemberList, options?: CallOptions) => Listing<t.Member>,
    /** `PATCH /v1/members/:userId` */
    update: change('PATCH /v1/members/:userId', 'member') as (
      userId: string,
      body: t.MemberUpdate,
      options?: CallOptions,
    ) => Promise<t.ChangedMember>,
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
    create: create('POST /v1/invites', 'invitation') as (
      body: t.InviteCreate,
      options?: KeyedOptions,
    ) => Promise<t.CreatedInvite>,
    /** `GET /v1/invites` */
    list: list('GET /v1/invites') as (query?: t.InviteList, options?: CallOptions) => Listing<t.Invite>,
    /** `POST /v1/invites/:id/revoke` */
    revoke: one('POST /v1/invites/:id/revoke', 'invitation') as (
      id: string,
      options?: CallOptions,
    ) => Promise<t.Invite>,
  },
})

const usageCalls = ({ list, read }: Calls) => ({
  /** `GET /v1/usage/daily`. Requests of the workspace, a project, a tenant, or a tenant in a project. */
  daily: read('GET /v1/usage/daily', 'daily_usage') as (
    query?: t.DailyUsageQuery,
    options?: CallOptions,
  ) => Promise<t.DailyUsage>,
  /** `GET /v1/usage/top`. The tenants, projects or keys with the most requests. Needs `overview:read`. */
  top: read('GET /v1/usage/top', 'top_usage') as (
    query?: t.TopUsageQuery,
    options?: CallOptions,
  ) => Promise<t.TopUsage>,
  /** `GET /v1/usage/refusals`. Requests that nodes refused, by reason, of the workspace or a project. */
  refusals: read('GET /v1/usage/refusals', 'refusals') as (
    query?: t.RefusalsQuery,
    options?: CallOptions,
  ) => Promise<t.Refusals>,
  /** `GET /v1/usage/billing` */
  billing: read('GET /v1/usage/billing', 'billing_usage') as (
    query?: t.BillingUsageQuery,
    options?: CallOptions,
  ) => Promise<t.BillingUsage>,
  /** `GET /v1/usage/tenants` */
  tenants: list('GET /v1/usage/tenants') as (
    query?: t.TenantUsageQuery,
    options?: CallOptions,
  ) => Listing<t.TenantUsage>,
})

const projectCalls = ({ change, create, list, one }: Calls) => ({
  /** `POST /v1/projects` */
  create: create('POST /v1/projects', 'project') as (
    body: t.ProjectCreate,
    options?: KeyedOptions,
  ) => Promise<t.Project>,
  /** `GET /v1/projects` */
  list: list('GET /v1/projects') as (query?: t.ProjectList, options?: CallOptions) => Listing<t.Project>,
  /** `GET /v1/projects/:id` */
  get: one('GET /v1/projects/:id', 'project') as (id: string, options?: CallOptions) => Promise<t.Project>,
  /** `PATCH /v1/projects/:id` */
  update: change('PATCH /v1/projects/:id', 'project') as (
    id: string,
    body: t.ProjectUpdate,
    options?: CallOptions,
  ) => Promise<t.Project>,
  /** `DELETE /v1/projects/:id`. Revokes every key of the project. */
  delete: one('DELETE /v1/projects/:id', 'project') as (
    id: string,
    options?: CallOptions,
  ) => Promise<t.DeletedProject>,
  /** `GET /v1/projects/:id/nodes`. The servers that hold the keys of the project, the last seen first. */
  nodes: list('GET /v1/projects/:id/nodes') as (
    id: string,
    query?: t.NodeList,
    options?: CallOptions,
  ) => Listing<t.FleetNode>,
})

const tenantCalls = ({ call, change, create, list, one }: Calls) => ({
  /** `POST /v1/tenants` */
  create: create('POST /v1/tenants', 'tenant') as (
    body: t.TenantCreate,
    options?: KeyedOptions,
  ) => Promise<t.Tenant>,
  /** `GET /v1/tenants` */
  list: list('GET /v1/tenants') as (query?: t.TenantList, options?: CallOptions) => Listing<t.Tenant>,
  /** `GET /v1/tenants/:id`. This and the methods below also take `external:acme` as id. */
  get: one('GET /v1/tenants/:id', 'tenant') as (id: string, options?: CallOptions) => Promise<t.Tenant>,
  /** `PATCH /v1/tenants/:id` */
  update: change('PATCH /v1/tenants/:id', 'tenant') as (
    id: string,
    body: t.TenantUpdate,
    options?: CallOptions,
  ) => Promise<t.Tenant>,
  /** `POST /v1/tenants/:id/suspend`. Nodes refuse all keys of the tenant until it is resumed, and no key changes. */
  suspend: (
    id: string,
    { wait, ...body }: o.StopOptions = {},
    options?: CallOptions,
  ): Promise<t.SettledTenant> =>
    call('POST /v1/tenants/:id/suspend', { object: 'tenant', id, query: { wait }, body, options }),
  /** `POST /v1/tenants/:id/resume`. Its keys are what they were. */
  resume: (id: string, { wait }: o.Waiting = {}, options?: CallOptions): Promise<t.SettledTenant> =>
    call('POST /v1/tenants/:id/resume', { object: 'tenant', id, query: { wait }, options }),
  /** `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request. */
  revokeEmbedTokens: (id: string, options?: CallOptions): Promise<t.EmbedTokensRevoked> =>
    call('POST /v1/tenants/:id/embed_tokens/revoke', {
      object: 'embed_tokens_revocation',
      id,
      body: {},
      options,
    }),
  /** `DELETE /v1/tenants/:id`. Revokes every key of the tenant. */
  delete: one('DELETE /v1/tenants/:id', 'tenant') as (
    id: string,
    options?: CallOptions,
  ) => Promise<t.DeletedTenant>,
})

const secretKeyCalls = ({ call, change, create, list, one, read }: Calls) => ({
  /** `POST /v1/secret_keys` */
  create: create('POST /v1/secret_keys', 'secret_key') as (
    body: t.SecretKeyCreate,
    options?: KeyedOptions,
  ) => Promise<t.CreatedSecretKey>,
  /** `GET /v1/secret_keys` */
  list: list('GET /v1/secret_keys') as (
    query?: t.SecretKeyList,
    options?: CallOptions,
  ) => Listing<t.SecretKey>,
  /** `GET /v1/secret_keys/:id` */
  get: one('GET /v1/secret_keys/:id', 'secret_key') as (
    id: string,
    options?: CallOptions,
  ) => Promise<t.ReadSecretKey>,
  /** `PATCH /v1/secret_keys/:id`. Only the name and `meta` change. */
  update: change('PATCH /v1/secret_keys/:id', 'secret_key') as (
    id: string,
    body: t.SecretKeyUpdate,
    options?: CallOptions,
  ) => Promise<t.SecretKey>,
  /** `POST /v1/secret_keys/:id/rotate` */
  rotate: (id: string, body: o.RotateBody = {}, options?: KeyedOptions): Promise<t.RotatedSecretKey> =>
    call('POST /v1/secret_keys/:id/rotate', { object: 'secret_key', keyed: true, id, body, options }),
  /**
   * `POST /v1/secret_keys/:id/revoke`. `descendants` of the answer are the newest of the keys made with it, the keys made
   * with those, and so on; `cascade` revokes them too. While that goes on, the answer and `get` have `cascade.state`
   * `running`.
   */
  revoke: (id: string, body: t.SecretKeyRevoke = {}, options?: CallOptions): Promise<t.RevokedSecretKey> =>
    call('POST /v1/secret_keys/:id/revoke', { object: 'secret_key', id, body, options }),
  /** `DELETE /v1/secret_keys/ended`. An owner deletes a batch of revoked and expired ones; repeat it while `hasMore`. */
  deleteEnded: read('DELETE /v1/secret_keys/ended', 'ended_keys_deletion') as (
    query?: t.EndedSecretKeysQuery,
    options?: CallOptions,
  ) => Promise<t.EndedKeysDeleted>,
})
