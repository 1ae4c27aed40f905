/**
 * Manages a workspace. `calls.ts` calls a route by its name, `request.ts` sends, `list.ts` pages, `export.ts` streams,
 * `types.ts` has the types of the contract, and `names.ts` converts their names.
 */

import { createHttpCaller, createHttpSender } from '../http/call.ts'
import { refuseBrowser } from '../runtime/refuse-browser.ts'
import type { Timer } from '../runtime/timer.ts'
import { type Calls, createCalls } from './calls.ts'
import { exportRows } from './export.ts'
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
    keys: keyCalls(calls),
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

const embedTokensRevoke = 'POST /v1/tenants/:id/embed_tokens/revoke'
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
  resume: (id: string, { wait }: { wait?: boolean } = {}, options?: CallOptions): Promise<t.SettledTenant> =>
    call('POST /v1/tenants/:id/resume', { object: 'tenant', id, query: { wait }, options }),
  /** `POST /v1/tenants/:id/embed_tokens/revoke`. Every embed token of the tenant fails on its next request. */
  revokeEmbedTokens: (id: string, options?: CallOptions): Promise<t.EmbedTokensRevoked> =>
    call(embedTokensRevoke, { object: 'embed_tokens_revocation', id, body: {}, options }),
  /** `DELETE /v1/tenants/:id`. Revokes every key of the tenant. */
  delete: one('DELETE /v1/tenants/:id', 'tenant') as (
    id: string,
    options?: CallOptions,
  ) => Promise<t.DeletedTenant>,
})

const keyCalls = ({ call, change, create, list, one, read }: Calls) => ({
  /** `POST /v1/keys`. Rejects with `secret_lost` if the answer with `key` was lost: rotate the key `resourceId` then. */
  create: create('POST /v1/keys', 'api_key') as (
    body: t.KeyCreate,
    options?: KeyedOptions,
  ) => Promise<t.CreatedKey>,
  /** `GET /v1/keys` */
  list: list('GET /v1/keys') as (query?: t.KeyList, options?: CallOptions) => Listing<t.Key>,
  /** `GET /v1/keys/:id` */
  get: one('GET /v1/keys/:id', 'api_key') as (id: string, options?: CallOptions) => Promise<t.Key>,
  /** `POST /v1/keys/identify`. Finds a key by the key itself, also a revoked or expired one. */
  identify: (key: string, options?: CallOptions): Promise<t.Key> =>
    call('POST /v1/keys/identify', { object: 'api_key', body: { key }, options }),
  /** `GET /v1/keys/:id/explain`. Whether nodes accept the key, and every reason why not. Charges nothing. */
  explain: (id: string, query?: t.KeyExplainQuery, options?: CallOptions): Promise<t.KeyExplanation> =>
    call('GET /v1/keys/:id/explain', { object: 'key_explanation', id, query, options }),
  /** `POST /v1/keys/explain`. The same for the key itself, also for a text that is no key of the workspace. */
  explainText: (body: t.KeyExplain, options?: CallOptions): Promise<t.KeyExplanation> =>
    call('POST /v1/keys/explain', { object: 'key_explanation', body, options }),
  /**
   * `POST /v1/keys/verify`. Judges a key, charges its limits and counts the request; every verdict resolves. Not repeated by
   * default, since a call without an answer may have been charged. A keyring verifies without a call.
   */
  verify: (body: t.KeyVerify, { maxRetries = 0, ...more }: CallOptions = {}): Promise<t.KeyVerdict> =>
    call('POST /v1/keys/verify', { object: 'key_verdict', body, options: { ...more, maxRetries } }),
  /** `PATCH /v1/keys/:id` */
  update: change('PATCH /v1/keys/:id', 'api_key') as (
    id: string,
    body: t.KeyUpdate,
    options?: CallOptions,
  ) => Promise<t.Key>,
  /** `POST /v1/keys/:id/rotate`. Rejects with `secret_lost` if the answer with `key` was lost: rotate `resourceId` then. */
  rotate: (id: string, body: o.RotateBody = {}, options?: KeyedOptions): Promise<t.RotatedKey> =>
    call('POST /v1/keys/:id/rotate', { object: 'api_key', keyed: true, id, body, options }),
  /** `POST /v1/keys/:id/revoke`. With `wait` it returns once the nodes have the revocation, and lists those that have not. */
  revoke: (id: string, { wait, ...body }: o.StopOptions = {}, options?: CallOptions): Promise<t.RevokedKey> =>
    call('POST /v1/keys/:id/revoke', { object: 'api_key', id, query: { wait }, body, options }),
  /** `POST /v1/keys/:id/disable`. Nodes refuse the key until it is resumed. With `wait` it returns once they have the pause. */
  disable: (id: string, { wait, ...body }: o.StopOptions = {}, options?: CallOptions): Promise<t.PausedKey> =>
    call('POST /v1/keys/:id/disable', { object: 'api_key', id, query: { wait }, body, options }),
  /** `POST /v1/keys/:id/enable`. Resumes a paused key, which is then what it was. */
  enable: (id: string, { wait }: o.Waiting = {}, options?: CallOptions): Promise<t.PausedKey> =>
    call('POST /v1/keys/:id/enable', { object: 'api_key', id, query: { wait }, options }),
  /** `POST /v1/keys/revoke`. Up to 200 `ids`, or a `filter` and how many keys it is to match; batches go on after the answer. */
  revokeMany: ({ wait, ...body }: t.StopMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk> =>
    call('POST /v1/keys/revoke', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  /** `POST /v1/keys/disable`. Pauses keys, named as for `revokeMany`. */
  disableMany: ({ wait, ...body }: t.StopMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk> =>
    call('POST /v1/keys/disable', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  /** `POST /v1/keys/enable`. Resumes paused keys, named as for `revokeMany`. */
  enableMany: ({ wait, ...body }: t.ResumeMany & o.Waiting, options?: KeyedOptions): Promise<t.SettledBulk> =>
    call('POST /v1/keys/enable', { object: 'bulk_operation', keyed: true, query: { wait }, body, options }),
  /** `POST /v1/keys/count`. On how many keys an action would do something: the number to `expect`. */
  count: (body: t.KeyCountBody, options?: CallOptions): Promise<t.KeyCount> =>
    call('POST /v1/keys/count', { object: 'key_count', body, options }),
  /** `GET /v1/keys/bulk/:id`. How far a change of many keys has come, for 7 days after its end. */
  getBulk: (id: string, options?: CallOptions): Promise<t.BulkOperation> =>
    call('GET /v1/keys/bulk/:id', { object: 'bulk_operation', id, options }),
  /** `DELETE /v1/keys/ended`. An owner deletes a batch of revoked and expired keys; repeat it while `hasMore`. */
  deleteEnded: read('DELETE /v1/keys/ended', 'ended_keys_deletion') as (
    query?: t.EndedKeysQuery,
    options?: CallOptions,
  ) => Promise<t.EndedKeysDeleted>,
  /** `GET /v1/keys/:id/usage` */
  usage: (id: string, query?: t.KeyUsageQuery, options?: CallOptions): Promise<t.KeyUsage> =>
    call('GET /v1/keys/:id/usage', { object: 'key_usage', id, query, options }),
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
